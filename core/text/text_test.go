package text

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"kith/core"
	"kith/core/conversion"
	"kith/core/reward"
)

func TestTagOf(t *testing.T) {
	for given, want := range map[string]Tag{
		"en": "en", "EN": "en", "en_US": "en-US", "pt-br": "pt-BR", "zh_hant_tw": "zh-Hant-TW", "es-419": "es-419", "sr-Latn": "sr-Latn",
		"": "", "e": "", "*": "", "en-": "", "-en": "", "english": "", "12": "", "e1": "", "en--US": "", "de/at": "", "en-abcdefghi": "", "zh-Hant-TW-x-abcd": "", "ü": "",
	} {
		if got := TagOf(given); got != want {
			t.Errorf("%q: %q, not %q", given, got, want)
		}
		got, err := ParseTag("locale", given)
		var e *core.Error
		if got != want || (want == "") != (errors.As(err, &e) && e.Field == "locale" && e.RS == "RS039") {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}

func TestAccepted(t *testing.T) {
	for header, want := range map[string]string{
		"":                                    "",
		"de":                                  "de",
		"de-AT,de;q=0.9,en;q=0.8":             "de-AT de en",
		"en;q=0.1, fr ;q=0.7,es; q=0.7 ,pt":   "pt fr es en",
		"*, de;q=0":                           "",
		"de;q=2, fr;q=x, es;q=0.1234, pt;z=1": "",
		"de;q=1.000, en;Q=0.5":                "de en",
		"<script>,en":                         "en",
		strings.Repeat("xx,", 300) + "de":     strings.TrimSpace(strings.Repeat("xx ", maxAccepted)),
	} {
		var got []string
		for _, tag := range Accepted(header) {
			got = append(got, string(tag))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%.40q: %q, not %q", header, got, want)
		}
	}
}

// The language is that of the page, else of the user, else of the browser; a region is
// ignored where a language has none.
func TestFor(t *testing.T) {
	for _, c := range []struct {
		page, user, browser string
		language, locale    Tag
	}{
		{"", "", "", "en", "en"},
		{"de", "fr", "es", "de", "de"},
		{"", "fr_CA", "es", "fr", "fr-CA"},
		{"", "", "sv,pt-PT;q=0.9,de;q=0.8", "pt", "pt-PT"},
		{"nl", "sv", "fi", "en", "en"},
		{"nl", "sv", "ar-EG", "ar", "ar-EG"},
		{"???", "deutsch", "de", "de", "de"},
	} {
		_, language, locale := For(Wanted(c.page, c.user, c.browser))
		if language != c.language || locale != c.locale {
			t.Errorf("%+v: %s %s", c, language, locale)
		}
	}
	if Tag("ar-EG").Direction() != "rtl" || Tag("he").Direction() != "rtl" || Tag("de").Direction() != "ltr" {
		t.Error("directions")
	}
}

// plain replaces blanks at which a line does not break by usual ones, and removes marks of
// direction.
func plain(s string) string {
	return strings.NewReplacer(noBreak, " ", "\u202f", " ", "\u200e", "", "\u2066", "", "\u2069", "").Replace(s)
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		value          int64
		unit, currency string
		want           string // in the order of Languages
	}{
		{1000, "CENTS", "USD", "$10|10 $|10 $US|10 US$|US$ 10|10 US$"},
		{1050, "CENTS", "EUR", "€10.50|10,50 €|10,50 €|10,50 €|€ 10,50|10.50 €"},
		{-500, "CENTS", "USD", "−$5|−5 $|−5 $US|−5 US$|−US$ 5|−5 US$"},
		{123456789, "CENTS", "GBP", "£1,234,567.89|1.234.567,89 £|1 234 567,89 £GB|1.234.567,89 £|£ 1.234.567,89|1,234,567.89 £"},
		{123400, "CENTS", "EUR", "€1,234|1.234 €|1 234 €|1234 €|€ 1.234|1,234 €"},
		{1000, "CENTS", "JPY", "¥1,000|1.000 ¥|1 000 ¥|1000 ¥|JP¥ 1.000|1,000 ¥"},
		{1500, "CENTS", "KWD", "1.500 KWD|1,500 KWD|1,500 KWD|1,500 KWD|1,500 KWD|1.500 KWD"},
		{5, "CENTS", "CHF", "0.05 CHF|0,05 CHF|0,05 CHF|0,05 CHF|0,05 CHF|0.05 CHF"},
		{1000, "CASH/USD", "", "$10|10 $|10 $US|10 US$|US$ 10|10 US$"},
		{1250, "%", "", "12.5%|12,5 %|12,5 %|12,5 %|12,5%|12.5%"},
		{1, "months", "", "1 month free|1 Monat gratis|1 mois gratuit|1 mes gratis|1 mês grátis|شهرًا واحدًا مجانًا"},
		{2, "MONTH", "", "2 months free|2 Monate gratis|2 mois gratuits|2 meses gratis|2 meses grátis|شهرين مجانًا"},
		{3, "Months", "", "3 months free|3 Monate gratis|3 mois gratuits|3 meses gratis|3 meses grátis|3 أشهر مجانًا"},
		{11, "days", "", "11 days free|11 Tage gratis|11 jours gratuits|11 días gratis|11 dias grátis|11 يومًا مجانًا"},
		{100, "POINT", "", "100 points|100 Punkte|100 points|100 puntos|100 pontos|100 نقطة"},
		{7, "STAR", "", "7 STAR|7 STAR|7 STAR|7 STAR|7 STAR|7 STAR"},
	} {
		for i, want := range strings.Split(c.want, "|") {
			if got := plain(catalogs[i].Amount(c.value, c.unit, c.currency)); got != want {
				t.Errorf("%d %s %s in %s: %q, not %q", c.value, c.unit, c.currency, Languages[i], got, want)
			}
		}
	}
	const least = -1 << 63
	if got := plain(english.Amount(least, "x", "")); got != "−9,223,372,036,854,775,808 x" {
		t.Error(got)
	}
}

func TestDescribe(t *testing.T) {
	usd := func(amount int64) Value { return Value{Amount: amount, Unit: "CENTS", Currency: "USD"} }
	for _, c := range []struct {
		offer           Offer
		english, german string // the reward, then the terms
	}{
		{Offer{}, "", ""},
		{Offer{Kind: reward.Credit}, "", ""},
		{Offer{Kind: reward.PercentDiscount, Value: Value{Discount: 1000, Unit: "%"}}, "10% off", "10 % Rabatt"},
		{Offer{Kind: reward.Credit, Value: usd(1000)}, "$10", "10 $"},
		{Offer{Kind: reward.Credit, Value: Value{Amount: 2, Unit: "months"}}, "2 months free", "2 Monate gratis"},
		{Offer{Kind: reward.Credit, Value: Value{Amount: 2, Unit: "CENTS"}}, "a reward", "eine Prämie"},
		{Offer{Kind: reward.FuelTank, Value: Value{Amount: 1500, Unit: "%"}}, "a coupon code for 15% off", "einen Gutscheincode für 15 % Rabatt"},
		{Offer{Kind: reward.FuelTank, Value: usd(1000)}, "a coupon code worth $10", "einen Gutscheincode über 10 $"},
		{Offer{Kind: reward.FuelTank, Value: Value{Amount: 1, Unit: "month"}}, "a coupon code for 1 month free", "einen Gutscheincode für 1 Monat gratis"},
		{Offer{Kind: reward.Integration, Value: usd(2500)}, "a gift worth $25", "ein Geschenk im Wert von 25 $"},
		{Offer{Kind: reward.Integration, Name: "A mug", Value: usd(2500)}, "A mug", "A mug"},
		{
			Offer{Kind: reward.Credit, Value: usd(500), Waiting: 14 * core.Day, ValidFor: core.Day + 1},
			"$5|Available after 14 days.|Valid for 2 days.", "5 $|Verfügbar nach 14 Tagen.|2 Tage gültig.",
		},
		{
			Offer{Kind: reward.Credit, Value: Value{OfOrder: 1000, Least: 100, Most: 5000, Currency: "USD"}, Waiting: core.Day},
			"10% of the order|At least $1 for an order.|At most $50 for an order.|Available after 1 day.",
			"10 % vom Bestellwert|Mindestens 1 $ pro Bestellung.|Höchstens 50 $ pro Bestellung.|Verfügbar nach 1 Tag.",
		},
		{
			Offer{Kind: reward.Credit, Value: Value{OfOrder: 750}, EachOrder: true, Months: 12},
			"7.5% of each order|Orders within 12 months count.", "7,5 % vom Wert jeder Bestellung|Es zählen Bestellungen innerhalb von 12 Monaten.",
		},
		{
			Offer{Kind: reward.Credit, Value: usd(500), EachOrder: true, Orders: 3},
			"$5 for each order|The first 3 orders count.", "5 $ für jede Bestellung|Die ersten 3 Bestellungen zählen.",
		},
		{
			Offer{Kind: reward.Credit, Tiers: []Tier{{1, usd(1000)}, {5, usd(1500)}}},
			"up to $15|For friends 1 to 4: $10 each.|From friend 5 on: $15 each.",
			"bis zu 15 $|1. bis 4. Empfehlung: jeweils 10 $.|Ab der 5. Empfehlung: jeweils 15 $.",
		},
		{
			Offer{Kind: reward.Credit, Tiers: []Tier{{1, usd(2000)}, {2, usd(1000)}}},
			"up to $20|For friend 1: $20.|From friend 2 on: $10 each.",
			"bis zu 20 $|1. Empfehlung: 20 $.|Ab der 2. Empfehlung: jeweils 10 $.",
		},
		{
			Offer{Kind: reward.Credit, Tiers: []Tier{{1, usd(1000)}, {3, Value{OfOrder: 500}}}},
			"$10|For friends 1 to 2: $10 each.|From friend 3 on: 5% of the order each.",
			"10 $|1. bis 2. Empfehlung: jeweils 10 $.|Ab der 3. Empfehlung: jeweils 5 % vom Bestellwert.",
		},
		{Offer{Kind: reward.Credit, Tiers: []Tier{{1, usd(1000)}}}, "$10|From friend 1 on: $10 each.", "10 $|Ab der 1. Empfehlung: jeweils 10 $."},
	} {
		for i, want := range []string{c.english, c.german} {
			d := catalogs[i].Describe(c.offer)
			if got := plain(strings.Join(append([]string{d.Reward}, d.Terms...), "|")); got != want {
				t.Errorf("%+v in %s:\n%q, not\n%q", c.offer, Languages[i], got, want)
			}
		}
	}
}

// No text of an offer, in any language, has a placeholder left.
func TestDescribe_FillsEachPlaceholder(t *testing.T) {
	value := Value{Amount: 1234, Unit: "CENTS", Currency: "EUR", Least: 1, Most: 2}
	for i, language := range Languages {
		for _, kind := range []reward.Kind{reward.PercentDiscount, reward.Credit, reward.FuelTank, reward.Integration} {
			for _, v := range []Value{value, {Discount: 5}, {OfOrder: 5, Least: 1, Most: 2, Currency: "EUR"}, {Amount: 1, Unit: "%"}, {Amount: 1, Unit: "day"}, {Amount: 1, Unit: "week"}, {Amount: 1, Unit: "year"}} {
				for _, each := range []bool{false, true} {
					o := Offer{Kind: kind, Value: v, EachOrder: each, Orders: 2, Months: 3, LeastOrder: 5, OrderCurrency: "EUR", Waiting: 1, ValidFor: 1}
					tiered := o
					tiered.Tiers = []Tier{{1, v}, {2, v}, {7, v}}
					for _, o := range []Offer{o, tiered} {
						d := catalogs[i].Describe(o)
						if all := d.Reward + strings.Join(d.Terms, ""); d.Reward == "" || len(d.Terms) < 5 || strings.ContainsAny(all, "{}") {
							t.Errorf("%s: %+v: %q", language, o, all)
						}
					}
				}
			}
		}
	}
}

func TestBalance(t *testing.T) {
	for _, c := range []struct {
		balance    reward.Balance
		most       reward.BasisPoints
		have, debt string
	}{
		{reward.Balance{Kind: reward.Credit, Unit: "CENTS", Currency: "USD", Assigned: 1500, Redeemed: 500}, 0, "$10", ""},
		{reward.Balance{Kind: reward.Credit, Unit: "CENTS", Assigned: 1500}, 0, "", ""},
		{reward.Balance{Kind: reward.Credit, Unit: "months", Assigned: 2}, 0, "2 months free", ""},
		{reward.Balance{Kind: reward.Credit, Unit: "months"}, 0, "", ""},
		{reward.Balance{Kind: reward.Credit, Unit: "CENTS", Currency: "USD", Assigned: 200, Redeemed: 500}, 0, "", "Your balance is −$3, because an order was refunded. Your next rewards settle it."},
		{reward.Balance{Kind: reward.PercentDiscount, Unit: "%", Referred: 1000, Referrer: 500}, 0, "15% off", ""},
		{reward.Balance{Kind: reward.PercentDiscount, Unit: "%", Referred: 9000, Referrer: 5000}, 0, "100% off", ""},
		{reward.Balance{Kind: reward.PercentDiscount, Unit: "%", Referred: 1000, Referrer: 500}, 1200, "12% off", ""},
		{reward.Balance{Kind: reward.PercentDiscount, Unit: "%"}, 0, "", ""},
		{reward.Balance{Kind: reward.FuelTank, Unit: "%", Assigned: 1000, Codes: 1}, 0, "", ""},
		{reward.Balance{Kind: reward.Integration, Unit: "CENTS", Currency: "EUR", Assigned: 2500}, 0, "a gift worth €25", ""},
	} {
		if have, debt := english.Balance(c.balance, c.most); have != c.have || debt != c.debt {
			t.Errorf("%+v: %q, %q", c.balance, have, debt)
		}
	}
	for texts, want := range map[string]string{"": "", "a": "a", "a|b": "a and b", "a|b|c": "a, b and c"} {
		if got := english.Listed(strings.Split(texts, "|")); got != want {
			t.Errorf("%q: %q", texts, got)
		}
	}
}

func TestInvite(t *testing.T) {
	own := map[Tag]Invitation{
		"pt-PT": {"pt-PT subject", "pt-PT {reward} {shop} {program}"},
		"de":    {"eigener Betreff", "{reward}!"},
		"nl":    {"onderwerp", "bericht {reward}"},
	}
	english := map[Tag]Invitation{"en": {"own subject", "own message"}}
	off := OfReward(reward.Offer{Kind: reward.PercentDiscount, Percent: 1000})
	for _, c := range []struct {
		wanted           string
		own              map[Tag]Invitation
		friend           Offer
		subject, message string
		language         Tag
	}{
		{"", nil, off, "Get 10% off at shop.example", "I recommend shop.example. With my link you get 10% off.", "en"},
		{"", nil, Offer{}, "Have a look at shop.example", "I recommend shop.example. Have a look:", "en"},
		{"de", nil, off, "Hol dir 10 % Rabatt bei shop.example", "Ich empfehle dir shop.example. Mit meinem Link bekommst du 10 % Rabatt.", "de"},
		{"de-AT", own, off, "eigener Betreff", "10 % Rabatt!", "de"},
		{"pt-PT", own, off, "pt-PT subject", "pt-PT 10% de desconto shop.example My {program}", "pt-PT"},
		{"pt-BR", own, off, "Ganhe 10% de desconto em shop.example", "Recomendo shop.example. Com meu link, você ganha 10% de desconto.", "pt"},
		{"sv,nl-BE,de", own, off, "onderwerp", "bericht 10% off", "nl"},
		{"sv,fr", own, off, "Reçois 10 % de réduction chez shop.example", "Je te recommande shop.example. Avec mon lien, tu reçois 10 % de réduction.", "fr"},
		{"sv", own, off, "Get 10% off at shop.example", "I recommend shop.example. With my link you get 10% off.", "en"},
		{"sv", english, off, "own subject", "own message", "en"},
		{"en-GB", english, off, "own subject", "own message", "en"},
		{"es", english, Offer{}, "Descubre shop.example", "Te recomiendo shop.example. Échale un vistazo:", "es"},
	} {
		got, language := Invite(Accepted(c.wanted), c.own, "https://www.shop.example/welcome?x=1", "My {program}", c.friend)
		if plain(got.Subject) != c.subject || plain(got.Message) != c.message || language != c.language {
			t.Errorf("%q: %+v in %s", c.wanted, got, language)
		}
	}
}

func TestInvitation_Check(t *testing.T) {
	good := Invitation{"{reward} at {shop}", "Hello,\nI like {program}."}
	if err := good.Check("invitations.de"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		bad   Invitation
		field string
	}{
		{Invitation{"", "m"}, "subject"},
		{Invitation{" ", "m"}, "subject"},
		{Invitation{"two\nlines", "m"}, "subject"},
		{Invitation{strings.Repeat("s", MaxSubject+1), "m"}, "subject"},
		{Invitation{"{name}", "m"}, "subject"},
		{Invitation{"s", ""}, "message"},
		{Invitation{"s", strings.Repeat("m", MaxMessage+1)}, "message"},
		{Invitation{"s", "a\x00b"}, "message"},
		{Invitation{"s", "a\xffb"}, "message"},
		{Invitation{"s", "{link}"}, "message"},
		{Invitation{"s", "{{shop}}"}, "message"},
	} {
		var e *core.Error
		if err := c.bad.Check("invitations.de"); !errors.As(err, &e) || e.Field != "invitations.de."+c.field || e.Code != core.CodeInvalid {
			t.Errorf("%.40q: %v", c.bad, err)
		}
	}
}

func TestErrorPage(t *testing.T) {
	digest := sha256.Sum256([]byte(pageStyle))
	if want := "sha256-" + base64.StdEncoding.EncodeToString(digest[:]); pageStyleDigest != want {
		t.Errorf("pageStyleDigest must be %s", want)
	}
	for _, c := range []struct {
		status   int
		wanted   string
		language Tag
		title    string
	}{
		{404, "", "en", englishPage.DeadTitle},
		{404, "de-CH,en", "de", germanPage.DeadTitle},
		{429, "fr", "fr", frenchPage.BusyTitle},
		{500, "es", "es", spanishPage.ErrorTitle},
		{503, "pt", "pt", portuguesePage.ErrorTitle},
		{404, "ar", "ar", arabicPage.DeadTitle},
	} {
		p := ErrorPage(c.status, Accepted(c.wanted))
		start := `<!doctype html><html lang="` + string(c.language) + `" dir="` + c.language.Direction() + `">`
		if p.Language != c.language || !strings.HasPrefix(p.HTML, start) || !strings.Contains(p.HTML, "<h1>"+c.title+"</h1>") {
			t.Errorf("%+v: %s %s", c, p.Language, p.HTML)
		}
		if strings.Contains(p.HTML, "<script") || len(p.HTML) > 1500 {
			t.Errorf("%d bytes: %s", len(p.HTML), p.HTML)
		}
	}
}

func TestWantsPage(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": true,
		"text/html":                         true,
		"TEXT/HTML; charset=utf-8; q=0.5":   true,
		"application/json, text/html":       true,
		"":                                  false,
		"*/*":                               false,
		"application/json":                  false,
		"text/html;q=0":                     false,
		"text/html;q=0.5, application/json": false,
		"text/html;q=0.5, application/json;q=0.4": true,
		"text/htmlx": false,
	} {
		if got := WantsPage(accept); got != want {
			t.Errorf("%q: %t", accept, got)
		}
	}
}

func TestHeading(t *testing.T) {
	for _, c := range []struct {
		of          Heading
		title, text string
	}{
		{Heading{User: true, Give: "10% off", Get: "$10"}, "Give 10% off, get $10", english.TextBoth},
		{Heading{Give: "10% off", Get: "$10"}, "Give 10% off, get $10", english.TextSignIn},
		{Heading{User: true, Give: "10% off"}, "Give your friends 10% off", english.TextShare},
		{Heading{User: true, Get: "$10"}, "Invite friends, get $10", english.TextShare},
		{Heading{User: true}, "Share with your friends", english.TextShare},
		{Heading{Conversion: true, Referrer: "{reward}", Give: "10% off"}, "{reward} gives you 10% off", english.TextConversion},
		{Heading{Conversion: true, Referrer: "Anna"}, "A gift from Anna", english.TextConversion},
		{Heading{Conversion: true, Give: "10% off", Get: "$10"}, "Welcome! You get 10% off", english.TextConversion},
		{Heading{Conversion: true}, "Welcome", english.TextConversion},
	} {
		if title, text := english.Heading(c.of); title != c.title || text != c.text {
			t.Errorf("%+v: %q, %q", c.of, title, text)
		}
	}
}

// What a program earns for orders is described with its limits and tiers.
func TestOfEarning(t *testing.T) {
	share := reward.Offer{Kind: reward.Credit, OfRevenue: 1000, Currency: "USD", GivenAfter: 14 * core.Day}
	fixed := reward.Offer{Kind: reward.Credit, Amount: 1000, Currency: "USD"}
	for _, c := range []struct {
		earning conversion.Earning
		byEvent bool
		want    string
	}{
		{conversion.Earning{Offer: fixed}, false, "$10"},
		{conversion.Earning{Offer: fixed}, true, "$10 for each order"},
		{conversion.Earning{Offer: fixed, Terms: conversion.Terms{Orders: 1}}, true, "$10|Only the first order counts."},
		{
			conversion.Earning{Offer: fixed, Terms: conversion.Terms{Tiers: []conversion.Tier{{From: 5, Value: 1500}}}}, false,
			"up to $15|For friends 1 to 4: $10 each.|From friend 5 on: $15 each.",
		},
		{
			conversion.Earning{Offer: share, Terms: conversion.Terms{Min: 100, Max: 5000, Months: 12}}, true,
			"10% of each order|At least $1 for an order.|At most $50 for an order.|Orders within 12 months count.|Available after 14 days.",
		},
		{
			conversion.Earning{Offer: share, Terms: conversion.Terms{Max: 5000, Tiers: []conversion.Tier{{From: 3, OfRevenue: 1250}}}}, true,
			"up to 12.5% of each order|From friend 1 on: 10% of the order each.|From friend 3 on: 12.5% of the order each.|At most $50 for an order.|Available after 14 days.",
		},
		{conversion.Earning{}, true, ""},
	} {
		d := english.Describe(OfEarning(c.earning, c.byEvent))
		if got := strings.Join(append([]string{d.Reward}, d.Terms...), "|"); got != c.want {
			t.Errorf("%+v:\n%q, not\n%q", c.earning, got, c.want)
		}
	}
}
