"""Every address of Studio.

Views stand here as objects, so a missing one stops the start and not the first visitor.
"""

from django.urls import path, register_converter
from django.views.generic import RedirectView

from studio.converters import FieldConverter, LimitNameConverter, TextConverter
from studio.views import health, limits, live, runs, slots, theme, workflows

register_converter(LimitNameConverter, "limit")
register_converter(FieldConverter, "field")
register_converter(TextConverter, "text")

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="limits"), name="home"),
    path("limits/", limits.index, name="limits"),
    path("limits/<limit:name>/", limits.detail, name="limit"),
    path("limits/<limit:name>/edit/", limits.edit, name="limit-edit"),
    path("limits/<limit:name>/pause/", limits.pause, name="limit-pause"),
    path("limits/<limit:name>/resume/", limits.resume, name="limit-resume"),
    path("limits/<limit:name>/reset/<field:field>/", limits.reset, name="limit-reset"),
    path("limits/<limit:name>/undo/", limits.undo, name="limit-undo"),
    path(
        "limits/<limit:name>/slots/<slug:slot_id>/release/",
        slots.release,
        name="slot-release",
    ),
    path("live/limits/", live.index, name="live-limits"),
    path("live/limits/<limit:name>/", live.detail, name="live-limit"),
    path("live/limits/<limit:name>/history/", live.past, name="live-history"),
    path("live/limits/<limit:name>/fates/", live.fates, name="live-fates"),
    path("live/runs/", live.run_index, name="live-runs"),
    path("live/runs/<text:run_id>/", live.run_detail, name="live-run"),
    path("runs/", runs.index, name="runs"),
    path("runs/<text:run_id>/cancel/", runs.cancel, name="run-cancel"),
    path("runs/<text:run_id>/", runs.detail, name="run"),
    path("workflows/", workflows.index, name="workflows"),
    path("workflows/<text:name>/trigger/", workflows.trigger, name="workflow-trigger"),
    path("theme/", theme.choose, name="theme"),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
]

handler400 = "studio.views.errors.bad_request"
handler403 = "studio.views.errors.forbidden"
handler404 = "studio.views.errors.not_found"
handler500 = "studio.views.errors.server_error"
