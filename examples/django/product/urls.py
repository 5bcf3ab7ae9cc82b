from django.urls import path

import billing.views
import work_items.views

urlpatterns = [
    path("work-items", work_items.views.create),
    path("work-items/<uuid:id>/complete", work_items.views.complete),
    path("work-items/<uuid:id>/invoices", billing.views.invoices),
    path("webhooks", billing.views.webhook),
]
