"""Studio's settings. What differs from box to box comes from the environment (`studio.environment`).

Importing this file reaches for no database.
"""

from pathlib import Path

from django.utils.csp import CSP

from studio import environment

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = False
SECRET_KEY = environment.secret_key()
ALLOWED_HOSTS = environment.allowed_hosts()
STACKBONE_ENVIRONMENT = environment.environment_name()
DATABASES = {"default": environment.database()}

INSTALLED_APPS = [
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "limits",
    "studio",
]

# From the outside in: headers reach every answer, the refusal of strangers comes before any work.
MIDDLEWARE = [
    "studio.middleware.OneLinePerRequest",
    "studio.middleware.Compressed",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "studio.middleware.PrivatePages",
    "studio.middleware.LoopbackOnly",
    "studio.middleware.StaticFiles",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "studio.middleware.DoneInPlace",
    "studio.middleware.ErrorPages",
]

ROOT_URLCONF = "studio.urls"
ASGI_APPLICATION = "studio.asgi.application"
CSRF_FAILURE_VIEW = "studio.views.errors.csrf_failure"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "studio.frame.frame",
            ],
        },
    }
]

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Straight from the source tree: no collecting step stands between a checkout and a running Studio.
WHITENOISE_USE_FINDERS = True

# No sessions before accounts exist; messages travel in a signed cookie.
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"

SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
    "object-src": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

# A name of its own: cookies of one host are shared by all its ports, and with them by other programs.
CSRF_COOKIE_NAME = "stackbone_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Django's own handler would print every event a second time.
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # studio.middleware and studio.views.errors write these events, with a reference.
        "django.request": {"level": "CRITICAL"},
        "django.security.csrf": {"level": "CRITICAL"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "studio": {"level": "INFO"},
    },
}
