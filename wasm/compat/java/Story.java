import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.CookieManager;
import java.net.http.HttpClient;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccountsApi;
import org.openapitools.client.api.CodesApi;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.api.LinksApi;
import org.openapitools.client.api.ReferralsApi;
import org.openapitools.client.api.RewardsApi;
import org.openapitools.client.api.UsersApi;
import org.openapitools.client.model.AccountInput;
import org.openapitools.client.model.BulkRedemptionInput;
import org.openapitools.client.model.EventInput;
import org.openapitools.client.model.EventsInput;
import org.openapitools.client.model.SubscriptionInput;
import org.openapitools.client.model.SubscriptionStatus;
import org.openapitools.client.model.UserInput;

/**
 * Runs the story of the README through the client that openapi-generator makes from the OpenAPI
 * document. The argument is the base URL of a fresh {@code kith dev}.
 */
public final class Story {
  private static final String TENANT = "demo";
  private static final String KEY = "LIVE_DEMO_KEY_0123456789";

  public static void main(String[] args) throws Exception {
    ApiClient client = newClient(args[0]);
    attribute(client);
    convert(client);
    redeem(client);
    purchase(client);
  }

  /** A client that keeps cookies, as Bob's browser does, and sends the API key. */
  private static ApiClient newClient(String edge) {
    HttpClient.Builder http = HttpClient.newBuilder().cookieHandler(new CookieManager()).followRedirects(HttpClient.Redirect.NEVER);
    String credentials = Base64.getEncoder().encodeToString((":" + KEY).getBytes());
    ObjectMapper mapper = ApiClient.createDefaultObjectMapper();
    return new ApiClient(http, mapper, edge).setRequestInterceptor(r -> r.setHeader("Authorization", "Basic " + credentials));
  }

  /** Follows Anna's share link, and signs Bob up with the cookie that it set. */
  private static void attribute(ApiClient client) throws ApiException {
    // The generated client treats 302, which the document has, as an error.
    int status;
    try {
      status = new LinksApi(client).followShareLinkWithHttpInfo(TENANT, "ANNA10", "FACEBOOK", null, null).getStatusCode();
    } catch (ApiException e) {
      status = e.getCode();
    }
    expect("follow", status, 302);
    var user = new UsersApi(client).upsertUser(TENANT, "bob", "bob", new UserInput().firstName("Bob").email("bob@example.com"), null, null);
    expect("code of Bob", user.getReferredBy().getCode(), "ANNA10");
    expect("date is in milliseconds", user.getDateCreated() > 1_700_000_000_000L, true);
  }

  /** Reports Bob's first payment. A later report without a status leaves the account PAID. */
  private static void convert(ApiClient client) throws ApiException {
    var accounts = new AccountsApi(client);
    accounts.syncAccount(TENANT, new AccountInput().id("bob").subscription(new SubscriptionInput().status(SubscriptionStatus.PAID).value(29.0)));
    var again = accounts.syncAccount(TENANT, new AccountInput().id("bob").subscription(new SubscriptionInput().value(39.0)));
    expect("status", again.getSubscription().getStatus(), SubscriptionStatus.PAID);
    var page = new ReferralsApi(client).listReferrals(TENANT, "bob", null, null, null, null, null, null, null, null, null, null);
    expect("count of referrals", page.getTotalCount(), 1L);
    expect("state", page.getReferrals().get(0).getState().getValue(), "converted");
  }

  /** Redeems a part of Anna's credit, and looks up the discount of her code. */
  private static void redeem(ApiClient client) throws ApiException {
    var used = new RewardsApi(client).redeemCredit(TENANT, new BulkRedemptionInput().accountId("anna").unit("CENTS").amount(400L));
    expect("credit left", used.getCreditAvailable(), 600L);
    expect("discount", new CodesApi(client).getCode(TENANT, "ANNA10").getDiscountPercentage(), 10.0);
  }

  /** Logs a purchase twice, of which the second is refused, and reads why Bob was attributed. */
  private static void purchase(ApiClient client) throws ApiException {
    var event = new EventInput().key("purchase").fields(Map.of("revenue", 29.0, "currency", "USD"));
    var call = new EventsInput().idempotencyKey("order-0001").events(List.of(event));
    var events = new EventsApi(client);
    expect("events", events.logEvents(TENANT, "bob", "bob", call).getEvents().get(0).getKey(), "purchase");
    int status = 200;
    try {
      events.logEvents(TENANT, "bob", "bob", call);
    } catch (ApiException e) {
      status = e.getCode();
    }
    expect("events again", status, 409);
    var why = new ReferralsApi(client).listAttributions(TENANT, "bob", null, null);
    expect("source", why.getAttributions().get(0).getSource(), "cookie");
  }

  private static void expect(String what, Object got, Object want) {
    if (!Objects.equals(got, want)) {
      throw new IllegalStateException(what + ": got " + got + ", want " + want);
    }
  }
}
