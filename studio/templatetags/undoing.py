"""The way back that a message carries. `{% load undoing %}`."""

from dataclasses import dataclass

from django import template
from django.contrib.messages.storage.base import Message

register = template.Library()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undo:
    """Where a form goes that takes a change back, and what it sends."""

    action: str
    token: str


@register.filter
def undo(message: Message) -> _Undo | None:
    """Return the way back that a message carries (`studio.undoing.offer`), or none."""
    action, _, token = (message.extra_tags or "").partition(" ")
    return _Undo(action=action, token=token) if token else None
