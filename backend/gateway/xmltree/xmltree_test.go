package xmltree_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "kith/backend/gateway/xmltree"
)

const notification = `<?xml version="1.0" encoding="UTF-8"?>
<!-- ignored -->
<notification>
  <kind>check</kind>
  <subject>
    <add_ons type="array"><add_on><id>a &amp; b</id></add_on></add_ons>
    <discounts type="array">
    </discounts>
    <daysPastDue nil="true"/>
    <price>49.99</price>
    <trial-period type="boolean">true</trial-period>
  </subject>
</notification>`

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse([]byte(notification))
	require.NoError(t, err)
	require.Equal(t, Object("notification",
		Text("kind", "check"),
		Object("subject",
			Array("add_ons", Object("add_on", Text("id", "a & b"))),
			Array("discounts"),
			Null("days_past_due"),
			Text("price", "49.99"),
			Bool("trial_period", true),
		),
	), got)
	require.Equal(t, "49.99", got.Value("subject", "price"))
	require.Empty(t, got.Value("subject", "days_past_due"))
	require.Empty(t, got.Value("subject", "absent", "deeper"))
	require.True(t, got.True("subject", "trial_period"))
	require.Len(t, got.Items("subject", "add_ons"), 1)
	require.Empty(t, got.Items("nowhere"))
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"nothing":         "",
		"no element":      "<!-- -->",
		"text alone":      "hello",
		"not closed":      "<a><b></b>",
		"crossed":         "<a><b></a></b>",
		"two documents":   "<a/><b/>",
		"document type":   `<!DOCTYPE a [<!ENTITY x "y">]><a>1</a>`,
		"unknown entity":  `<a>&x;</a>`,
		"other encoding":  `<?xml version="1.0" encoding="UTF-16"?><a/>`,
		"too deep":        strings.Repeat("<a>", MaxDepth+1) + strings.Repeat("</a>", MaxDepth+1),
		"too many":        "<a>" + strings.Repeat("<b/>", MaxNodes) + "</a>",
		"control in text": "<a>\x01</a>",
	} {
		_, err := Parse([]byte(doc))
		require.Error(t, err, name)
	}
	_, err := Parse([]byte(strings.Repeat("<a>", MaxDepth) + strings.Repeat("</a>", MaxDepth)))
	require.NoError(t, err)
	_, err = Parse([]byte("<a>" + strings.Repeat("<b/>", MaxNodes-1) + "</a>"))
	require.NoError(t, err)
}

func TestEncode(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 2, 33, 24, 5, time.FixedZone("", 3600))
	doc := Object("subscription",
		Text("plan_id", "a<b"), Text("empty", ""), nil, TextOrNull("name", ""), TextOrNull("status", "Past Due"),
		Int("failure_count", 2), Bool("never_expires", false),
		Date("first_billing_date", at), DateTime("created_at", at), DateTime("updated_at", time.Time{}),
		Array("discounts", Object("discount", Text("id", "d"))), Array("add_ons"),
	)
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<subscription>
  <plan-id>a&lt;b</plan-id>
  <empty/>
  <name nil="true"/>
  <status>Past Due</status>
  <failure-count type="integer">2</failure-count>
  <never-expires type="boolean">false</never-expires>
  <first-billing-date type="date">2026-11-21</first-billing-date>
  <created-at type="datetime">2026-11-21T01:33:24Z</created-at>
  <updated-at nil="true"/>
  <discounts type="array">
    <discount>
      <id>d</id>
    </discount>
  </discounts>
  <add-ons type="array"/>
</subscription>
`, string(doc.Encode()))
}

func TestSnake(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"add-ons": "add_ons", "add_ons": "add_ons", "planId": "plan_id", "currencyISOCode": "currency_iso_code",
		"last-4": "last_4", "index-0": "index_0", "line2Text": "line2_text", "ID": "id", "": "",
	} {
		require.Equal(t, want, Snake(in), in)
	}
}

// A parsed document can be encoded and parsed again to the same tree.
func FuzzParse(f *testing.F) {
	f.Add(notification)
	f.Add(`<a type="array"><b nil="true">x</b> <c> y </c></a>`)
	f.Add(`<_x><p:q xmlns:p="u">&#13;</p:q></_x>`)
	f.Fuzz(func(t *testing.T, doc string) {
		n, err := Parse([]byte(doc))
		if err != nil {
			return
		}
		again, err := Parse(n.Encode())
		require.NoError(t, err, "%s", n.Encode())
		require.Equal(t, n, again)
	})
}
