package importfile

import (
	"slices"
	"strings"
	"testing"

	"kith/core/job"
)

// mailchimpHeader is that of an audience as Mailchimp exports it.
const mailchimpHeader = "Email Address,First Name,Last Name,Address,Phone Number,Birthday,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,LAST_CHANGED,LEID,EUID,NOTES,TAGS"

// Names of columns are read as people write them, in six languages.
func TestParseHeader_Liberal(t *testing.T) {
	for _, c := range []struct {
		typ        job.Type
		head, want string
		m          Mapping
		unknown    string
	}{
		{job.ImportUser, "\ufeffAccount ID, ID ,first_name,E-Mail,Custom Fields.Shoe Size,REFERRED-BY.CODE", "accountId id firstName email customFields.Shoe Size referredBy.code", nil, ""},
		{job.ImportUser, "Kontonummer,Kundennummer,Vorname,Nachname,E-Mail-Adresse,Sprache,Land,Erstellt am", "accountId id firstName lastName email locale countryCode dateCreated", nil, ""},
		{job.ImportUser, "Nume\u0301ro de compte,Numéro client,Pre\u0301nom,Nom de famille,Adresse e-mail,Langue,Pays", "accountId id firstName lastName email locale countryCode", nil, ""},
		{job.ImportUser, "Número de cuenta,Número de cliente,Nombre,Apellidos,Correo electrónico,Idioma,País", "accountId id firstName lastName email locale countryCode", nil, ""},
		{job.ImportUser, "Número da conta,Código do cliente,Primeiro nome,Sobrenome,Endereço de e-mail,Idioma", "accountId id firstName lastName email locale", nil, ""},
		{job.ImportUser, "معرف الحساب,رقم العميل,الاسم الأول,اسم العائلة,البريد الإلكتروني", "accountId id firstName lastName email", nil, ""},
		{job.ImportUserEvent, "Kontonummer,Kundennummer,Ereignis,Bestelldatum,Betrag,Währung,Bestellnummer,E-Mail", "accountId userId event.key event.dateTriggered event.fields.revenue event.fields.currency event.fields.order_id E-Mail", nil, "E-Mail"},
		{job.ImportUserEvent, "user.accountId,user.id,event.key", "accountId userId event.key", nil, ""},
		{job.ImportRedeem, "User.AccountId,user id,Einheit,Betrag", "accountId id unit valueToRedeem", nil, ""},
		{job.ImportDelete, "account_id,Customer ID,do not track,EMAIL", "accountId id doNotTrack email", nil, ""},
		{job.ImportUser, mailchimpHeader, "email firstName lastName " + strings.Replace(strings.Join(strings.Split(mailchimpHeader, ",")[3:], " "), "OPTIN_TIME", "dateCreated", 1) + " accountId id",
			Mapping{"accountId": "Email Address", "id": "email address"}, strings.Replace(strings.Join(strings.Split(mailchimpHeader, ",")[3:], " "), "OPTIN_TIME ", "", 1)},
		{job.ImportUser, "accountId,id,Registriert am", "accountId id dateCreated", nil, ""},
		{job.ImportUserEvent, "accountId,userId,event.key,Zeitpunkt", "accountId userId event.key event.dateTriggered", nil, ""},
		{job.ImportUser, "Customer ID,Email,Backup,Shoe", "accountId Email email customFields.shoe id", Mapping{"accountId": "Customer ID", "id": "Customer ID", "email": "Backup", "customFields.shoe": "Shoe"}, "Email"},
		{job.ImportUser, "accountId,id,email,nick,", "accountId id email nick", Mapping{"email": ""}, "email nick"},
	} {
		l, problems := ParseHeader(c.typ, strings.Split(c.head, ","), c.m)
		var got []string
		for _, column := range l.Columns {
			got = append(got, column.Name())
		}
		if len(problems) > 0 || strings.Join(got, " ") != c.want || strings.Join(l.Unknown, " ") != c.unknown {
			t.Errorf("%s: %v\n%q, unknown %q\nwant\n%q, unknown %q", c.head, problems, strings.Join(got, " "), strings.Join(l.Unknown, " "), c.want, c.unknown)
		}
	}
}

// A column that fills several has its value in each.
func TestLayout_RowOfAMapping(t *testing.T) {
	l, problems := ParseHeader(job.ImportUser, names("Email Address", "First Name"), Mapping{"accountId": "Email Address", "id": "Email Address"})
	cells, err := l.Row(names("a@example.com", "Ada"))
	if len(problems) > 0 || err != nil || !slices.Equal(cells, names("a@example.com", "Ada", "a@example.com", "a@example.com")) || len(l.Order) != 4 {
		t.Error(problems, err, cells, l.Order)
	}
}

func TestParseHeader_MappingProblems(t *testing.T) {
	for want, m := range map[string]Mapping{
		"column params.columns.shoe: is not a column of this type of job":                                     {"shoe": "email"},
		"column params.columns.firstName: names the column \"Vorname\", which the header does not have":       {"firstName": "Vorname"},
		"column params.columns.lastName: names the column \"nick\", which is there twice; rename one of them": {"lastName": "nick"},
		"column id: is required, and the header does not have it":                                             {"id": ""},
		"column customFields.a: is both a value and the prefix of another column; rename one of them":         {"customFields.a": "email", "customFields.a.b": "id"},
	} {
		_, problems := ParseHeader(job.ImportUser, names("accountId", "id", "email", "nick", "nick"), m)
		if len(problems) != 1 || problems[0].Error() != want {
			t.Errorf("%v: %v\nwant %s", m, problems, want)
		}
	}
}

func TestGuess(t *testing.T) {
	for head, want := range map[string]Mapping{
		mailchimpHeader:       {"accountId": "Email Address", "id": "Email Address"},
		"Kundennummer,E-Mail": {"accountId": "Kundennummer"},
		"accountId,id":        {},
		"shoe":                {},
	} {
		got := Guess(job.ImportUser, strings.Split(head, ","))
		if len(got) != len(want) || got["accountId"] != want["accountId"] || got["id"] != want["id"] {
			t.Errorf("%s: %v", head, got)
		}
	}
	if got := Guess(job.ImportUserEvent, names("Email", "event.key")); got["userId"] != "Email" || got["accountId"] != "Email" {
		t.Error(got)
	}
}

// Numbers with a decimal comma. Money is not guessed, and texts are not changed.
func TestDecimal(t *testing.T) {
	for cell, want := range map[string][2]string{
		"12,50": {"12.50", "12.50"}, "1.234,50": {"1234.50", "1234.50"}, "-1 234 567,5": {"-1234567.5", "-1234567.5"}, "1\u202f234,5": {"1234.5", "1234.5"},
		"12.50": {"12.50", "12.50"}, "12": {"12", "12"}, "1.234": {"?", "1.234"}, "1.234.567": {"1234567", "1.234.567"}, "030 123 456": {"030 123 456", "030 123 456"},
		"a,b": {"a,b", "a,b"}, "1,2,3": {"1,2,3", "1,2,3"}, "1.23,4": {"1.23,4", "1.23,4"}, "": {"", ""}, ",5": {",5", ",5"}, "1'234,00": {"1234.00", "1234.00"}, "1,234": {"?", "1.234"}, "12,345": {"?", "12.345"}, "0,125": {"0.125", "0.125"}, "007,5": {"007,5", "007,5"},
	} {
		for i, money := range []bool{true, false} {
			got, sure := decimal(cell, money)
			if !sure {
				got = "?"
			}
			if got != want[i] {
				t.Errorf("%q, money %t: %q", cell, money, got)
			}
		}
	}
}

func TestGermanDate(t *testing.T) {
	for cell, want := range map[string]string{
		"01.12.2025": "2025-12-01", " 1.2.2025 ": "2025-02-01", "05.12.2025 14:30": "2025-12-05T14:30:00", "5.12.2025 9:05:07": "2025-12-05T09:05:07",
		"2025-12-01": "2025-12-01", "1.12.25": "1.12.25", "1.12": "1.12", "a.b.2025": "a.b.2025", "": "", "1764547200000": "1764547200000", "..2025": "..2025",
	} {
		if got := germanDate(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

func TestLayout_GermanDate(t *testing.T) {
	for separator, want := range map[string]string{";": "2025-12-05T14:30:00", ",": "05.12.2025 14:30"} {
		// A day that does not exist stays in the report as it was entered.
		layout, _ := ParseHeader(job.ImportUserEvent, names("accountId", "userId", "event.key", "event.dateTriggered"), nil)
		layout.Separator = separator
		cells, err := layout.Row(names("a", "u", "p", "05.12.2025 14:30"))
		if err != nil || cells[3] != want {
			t.Errorf("%q: %q, %v", separator, cells, err)
		}
		cells, err = layout.Row(names("a", "u", "p", "31.02.2026"))
		if cells[3] != "31.02.2026" || (err != nil) != (separator == ";") {
			t.Errorf("%q: %q, %v", separator, cells, err)
		}
	}
}

// An error of a spreadsheet is no value, and an amount that may be a thousand is not guessed.
func TestLayout_Row(t *testing.T) {
	for _, c := range []struct{ separator, cells, want string }{
		{",", "a;#N/A;p;1;80", "userId is the error #N/A of a spreadsheet; correct the cell"},
		{",", "a;u;p;1,5;1.234", "a;u;p;1,5;1.234"},
		{"\t", "a;u;p;1;1.234", "event.fields.revenue may be a thousand or a decimal number; write 1234 or 1.2340"},
		{"\t", "a;u;p;1;12.50", "a;u;p;1;12.50"},
		{";", "a;u;p;1,5;12,50", "a;u;p;1,5;12.50"},
	} {
		layout, problems := ParseHeader(job.ImportUserEvent, names("accountId", "userId", "event.key", "event.fields.order_id", "event.fields.revenue"), nil)
		if layout.Separator = c.separator; len(problems) > 0 {
			t.Fatal(problems)
		}
		cells, err := layout.Row(strings.Split(c.cells, ";"))
		got := strings.Join(cells, ";")
		if err != nil {
			got = err.Field + " " + err.Message
		}
		if got != c.want {
			t.Errorf("%q: %s", c.cells, got)
		}
	}
}

func TestDialect(t *testing.T) {
	for d, words := range map[Dialect]string{
		{}: "UTF-8", {UTF8, ",", ""}: "UTF-8 with commas", {UTF8, "", ""}: "UTF-8", {UTF16, "\t", ""}: "UTF-16 with tabs",
		{Windows1252, ";", ""}:      "Windows-1252 with semicolons (numbers may have a decimal comma, as in 1.234,50)",
		{Excel, "", "Kunden  2026"}: `the sheet "Kunden  2026" of a workbook; only this sheet is read`,
	} {
		if got := ParseDialect(d.String()); got != d || d.Words() != words || d.Plain() != strings.HasPrefix(words, "UTF-8") {
			t.Errorf("%q: %+v, %s", d.String(), got, d.Words())
		}
	}
}
