"""What a Django project has anyway, and five settings of its own: README.md says what they mean."""

import os
from urllib.parse import unquote, urlsplit

database = urlsplit(os.environ["DATABASE_URL"])
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": database.hostname,
        "PORT": database.port,
        "USER": unquote(database.username or ""),
        "PASSWORD": unquote(database.password or ""),
        "NAME": database.path.lstrip("/"),
    }
}
# The organization whose work items these are, and the signing secret of the webhook endpoint.
ORGANIZATION_ID = os.environ["ORGANIZATION_ID"]
WEBHOOK_SECRET = os.environ["WEBHOOK_SECRET"]

INSTALLED_APPS = ["work_items", "billing"]
ROOT_URLCONF = "product.urls"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
SECRET_KEY = "No sessions and no forms: nothing is signed with it."
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
