package conversion

import (
	"cmp"
	"strings"

	"kith/core"
)

// codes are the currency codes of ISO 4217, three bytes each, with those that it has withdrawn
// since 2010: old orders may have them.
const codes = "AEDAFNALLAMDANGAOAARSAUDAWGAZNBAMBBDBDTBGNBHDBIFBMDBNDBOBBOVBRLBSDBTNBWPBYNBYRBZDCADCDFCHECHFCHWCLFCLPCNYCOPCOUCRCCUC" +
	"CUPCVECZKDJFDKKDOPDZDEEKEGPERNETBEURFJDFKPGBPGELGHSGIPGMDGNFGTQGYDHKDHNLHRKHTGHUFIDRILSINRIQDIRRISKJMDJODJPYKESKGSKHR" +
	"KMFKPWKRWKWDKYDKZTLAKLBPLKRLRDLSLLTLLVLLYDMADMDLMGAMKDMMKMNTMOPMROMRUMURMVRMWKMXNMXVMYRMZNNADNGNNIONOKNPRNZDOMRPABPEN" +
	"PGKPHPPKRPLNPYGQARRONRSDRUBRWFSARSBDSCRSDGSEKSGDSHPSLESLLSOSSRDSSPSTDSTNSVCSYPSZLTHBTJSTMTTNDTOPTRYTTDTWDTZSUAHUGXUSD" +
	"USNUYIUYUUYWUZSVEDVEFVESVNDVUVWSTXAFXAGXAUXBAXBBXBCXBDXCDXCGXDRXOFXPDXPFXPTXSUXTSXUAXXXYERZARZMWZWGZWL"

// isCurrency reports whether s is a currency code of ISO 4217.
func isCurrency(s string) bool {
	for i := 0; i < len(codes); i += 3 {
		if codes[i:i+3] == s {
			return true
		}
	}
	return false
}

// ParseCurrency returns the currency that a person has entered, in capital letters, or an
// error about field if it is no code of ISO 4217.
func ParseCurrency(field, s string) (string, error) {
	code := capital(s)
	if !isCurrency(code) {
		return "", core.Invalid(field, "must be a currency code of ISO 4217, such as "+cmp.Or(codeOf(code), "USD"))
	}
	return code, nil
}

// codeOf returns the code of a sign, name or number that shops send in place of one, in
// capitals; empty if it is unknown.
func codeOf(name string) string {
	switch name {
	case "€", "EURO", "EUROS", "978":
		return "EUR"
	case "$", "US$", "DOLLAR", "DOLLARS", "840":
		return "USD"
	case "£", "POUND", "826":
		return "GBP"
	case "¥", "YEN", "392":
		return "JPY"
	case "FR.", "SFR", "756":
		return "CHF"
	}
	return ""
}

// capital returns a currency without blanks around it, in capital letters, unless a letter such as
// ı becomes one of ASCII by that: such a text is no code.
func capital(sent string) string {
	sent = strings.TrimSpace(sent)
	if code := strings.ToUpper(sent); len(code) == len(sent) {
		return code
	}
	return sent
}

// readCurrency returns the currency of an event: without one, that of the order or of the
// program. fault says what is wrong with a field that is no code.
func readCurrency(e Event, p Plan) (currency, fault string) {
	switch given := capital(e.Currency); {
	case given == "":
		return p.currency(), ""
	case isCurrency(given), given == p.currency():
		return given, ""
	default:
		return "", badCode(e.Currency) + cmp.Or(codeOf(given), "a code such as USD")
	}
}

// again is what the sender of an event does that cannot be read.
const again = "; send a new event with the same order_id and "

func badCode(given string) string {
	return "currency " + shown(given) + " is no code of ISO 4217" + again
}

// readRevenue returns the revenue of an event; ok is false if it has none. fault says what
// is wrong with a field that is no number.
func readRevenue(e Event) (d Decimal, ok bool, fault string) {
	given := strings.TrimSpace(e.Revenue)
	if given == "" {
		return d, false, ""
	}
	if d, ok = ParseDecimal(given); !ok {
		fault = "revenue " + shown(e.Revenue) + " is no number" + again + "a number such as 20.00"
	}
	return d, ok, fault
}

// Unreadable returns the field of an event with money that cannot be read, and how to write it;
// "" if there is none. A currency of three letters may be that of a program.
func Unreadable(e Event) (field, reason string) {
	if _, _, fault := readRevenue(e); fault != "" {
		return "revenue", "is no number, and amounts are not guessed; write it as 1234.50, without a currency or a thousands separator"
	}
	given := capital(e.Currency)
	if given == "" || isCurrency(given) || len(given) == 3 && strings.Trim(given, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return "", ""
	}
	return "currency", "is no code of ISO 4217; write " + cmp.Or(codeOf(given), "a code such as USD")
}

// maxShown is the most bytes of a value in a text about it.
const maxShown = 40

// shown returns the value of a field in quotes, and at most 40 bytes of it.
func shown(value string) string {
	if len(value) > maxShown {
		value = strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	return `"` + value + `"`
}
