"""Runs the story of the README through the client that openapi-python-client makes
from the OpenAPI document, which must be importable as kith:

    story.py EDGE

EDGE is the base URL of a fresh `kith dev`.
"""

import base64
import sys

from kith import AuthenticatedClient
from kith.api.accounts import sync_account
from kith.api.codes import get_code
from kith.api.events import log_events
from kith.api.links import follow_share_link
from kith.api.referrals import list_attributions, list_referrals
from kith.api.rewards import redeem_credit
from kith.api.users import upsert_user
from kith.models import (
    AccountInput,
    BulkRedemptionInput,
    EventInput,
    EventsInput,
    SubscriptionInput,
    SubscriptionStatus,
    UserInput,
)

TENANT = "demo"
KEY = "LIVE_DEMO_KEY_0123456789"


def main(edge):
    credentials = base64.b64encode(f":{KEY}".encode()).decode()
    # One httpx client keeps cookies, as Bob's browser does.
    client = AuthenticatedClient(base_url=edge, token=credentials, prefix="Basic", follow_redirects=False)
    for chapter in (attribute, convert, redeem, purchase):
        chapter(client)


def attribute(client):
    """Follows Anna's share link, and signs Bob up with the cookie that it set."""
    link = follow_share_link.sync_detailed(TENANT, "ANNA10", client=client, rs_share_medium="FACEBOOK")
    expect("follow", link.status_code, 302)
    user = upsert_user.sync(TENANT, "bob", "bob", client=client, body=UserInput(first_name="Bob", email="bob@example.com"))
    expect("code of Bob", user.referred_by.code, "ANNA10")
    expect("date is in milliseconds", user.date_created > 1_700_000_000_000, True)


def convert(client):
    """Reports Bob's first payment. A later report without a status leaves the account PAID."""
    paid = SubscriptionInput(status=SubscriptionStatus.PAID, value=29.0)
    sync_account.sync(TENANT, client=client, body=AccountInput(id="bob", subscription=paid))
    again = sync_account.sync(TENANT, client=client, body=AccountInput(id="bob", subscription=SubscriptionInput(value=39.0)))
    expect("status", again.subscription.status, SubscriptionStatus.PAID)
    page = list_referrals.sync(TENANT, client=client, referred_account_id="bob")
    expect("count of referrals", page.total_count, 1)
    expect("state", page.referrals[0].state, "converted")


def redeem(client):
    """Redeems a part of Anna's credit, and looks up the discount of her code."""
    used = redeem_credit.sync(TENANT, client=client, body=BulkRedemptionInput(account_id="anna", unit="CENTS", amount=400))
    expect("credit left", used.credit_available, 600)
    expect("discount", get_code.sync(TENANT, "ANNA10", client=client).discount_percentage, 10)


def purchase(client):
    """Logs a purchase twice, of which the second is refused, and reads why Bob was attributed."""
    event = EventInput.from_dict({"key": "purchase", "fields": {"revenue": 29.0, "currency": "USD"}})
    call = EventsInput(idempotency_key="order-0001", events=[event])
    expect("events", log_events.sync_detailed(TENANT, "bob", "bob", client=client, body=call).status_code, 200)
    expect("events again", log_events.sync_detailed(TENANT, "bob", "bob", client=client, body=call).status_code, 409)
    why = list_attributions.sync(TENANT, client=client, account_id="bob")
    expect("source", why.attributions[0].source, "cookie")


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got}, want {want}")


if __name__ == "__main__":
    main(sys.argv[1])
