package wire

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/event"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/referral"
)

// ImportRow appends a row of a CSV file as a JSON object, like a line of a JSONL
// file, so that one parser reads both. Empty cells are left out.
func ImportRow(b []byte, l importfile.Layout, cells []string) []byte {
	w := writer{b: b}
	w.open()
	var at []string
	for _, i := range l.Order {
		if cells[i] == "" {
			continue
		}
		path := l.Columns[i].Path
		parents := path[:len(path)-1]
		for !beginsWith(parents, at) {
			w.close()
			at = at[:len(at)-1]
		}
		for len(at) < len(parents) {
			w.key(parents[len(at)])
			w.open()
			at = append(at, parents[len(at)])
		}
		w.cell(path[len(path)-1], l.Columns[i].Kind, cells[i])
	}
	for range at {
		w.close()
	}
	w.close()
	return w.b
}

func beginsWith(path, prefix []string) bool {
	if len(path) < len(prefix) {
		return false
	}
	for i, part := range prefix {
		if path[i] != part {
			return false
		}
	}
	return true
}

// cell writes a cell. If the value is not of the column's kind, it is written as a
// string, so that the parser reports the error.
func (w *writer) cell(name string, kind importfile.Kind, cell string) {
	switch {
	case kind == importfile.Boolean && strings.EqualFold(cell, "true"),
		kind == importfile.Boolean && strings.EqualFold(cell, "false"):
		w.raw(name, strings.ToLower(cell))
	case kind == importfile.Integer && plainNumber(cell, false):
		w.raw(name, cell)
	case kind == importfile.Any && (cell == "true" || cell == "false" || plainNumber(cell, true)):
		w.raw(name, cell)
	default:
		w.text(name, cell)
	}
}

// plainNumber reports whether a text is a JSON number without an exponent, and short
// enough that a float64 keeps all its digits. Longer ones, such as card numbers, are
// strings.
func plainNumber(s string, fraction bool) bool {
	digits := strings.TrimPrefix(s, "-")
	whole, rest, point := strings.Cut(digits, ".")
	if len(digits) > 16 || point && (!fraction || rest == "" || !allDigits(rest)) {
		return false
	}
	return whole != "" && allDigits(whole) && (whole == "0" || whole[0] != '0')
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// CheckImportRow parses a row as its job would, and returns the error.
func CheckImportRow(tenant core.TenantAlias, t job.Type, row []byte) (err error) {
	switch t {
	case job.ImportUser:
		_, _, err = ParseImportedUser(tenant, row)
	case job.ImportDelete:
		_, err = ParseDeletion(row)
	case job.ImportUserEvent:
		_, err = ParseImportedEvent(row)
	case job.ImportRedeem:
		_, err = ParseDraw(row)
	}
	return err
}

// ParseImportedUser parses a row of MUTATION/USER: the body of an identification with
// the ids of the user (clients 3.3.2). created is zero if the row has no
// dateCreated.
func ParseImportedUser(tenant core.TenantAlias, row []byte) (u referral.UserUpdate, created core.Time, err error) {
	account, err := rowID(row, "accountId", "RS044", core.ParseAccountID)
	if err != nil {
		return u, 0, err
	}
	user, err := rowID(row, "id", "RS043", core.ParseUserID)
	if err != nil {
		return u, 0, err
	}
	u, err = ParseUser(tenant, account, user, row)
	at, _ := wholeNumber(gjson.GetBytes(row, "dateCreated").Raw)
	return u, core.Time(at), err
}

// rowID returns an id of a row without checking the rest, which is checked later. An
// invalid row is an error only if the id is missing.
func rowID[T any](row []byte, key, rs string, parse func(field, s string) (T, error)) (T, error) {
	v := gjson.GetBytes(row, key)
	if v.Type != gjson.String {
		var none T
		if err := checkRow(row); err != nil {
			return none, err
		}
		if v.Exists() && v.Type != gjson.Null {
			return none, core.Malformed(key, "must be a string")
		}
		return none, required(key, rs)
	}
	return parse(key, v.String())
}

// checkRow checks that a row is a valid JSON object.
func checkRow(row []byte) error {
	switch {
	case checkObject(row, MaxBody) == nil:
		return nil
	case gjson.ValidBytes(row) && gjson.ParseBytes(row).IsArray():
		return core.Malformed("", "the row is a JSON array; write each of its objects on a line of its own")
	}
	return core.Malformed("", "the row is not a valid JSON object")
}

// Deletion is a row of MUTATION/DELETE_USER. For nil fields, the params of the job
// decide.
type Deletion struct {
	Account              core.AccountID
	User                 core.UserID
	PreserveEmptyAccount *bool
	DoNotTrack           *bool
}

// ParseDeletion parses a row of MUTATION/DELETE_USER (clients 3.3.3).
func ParseDeletion(row []byte) (Deletion, error) {
	var d Deletion
	who, err := parseRow(row, "id", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "preserveEmptyAccount":
			return r.boolean(&d.PreserveEmptyAccount, key, v)
		case "doNotTrack":
			return r.boolean(&d.DoNotTrack, key, v)
		}
		return false
	})
	d.Account, d.User = who.Account, who.User
	return d, err
}

// ParseImportedEvent parses a row of MUTATION/USER_EVENT, which has one event
// (clients 3.3.4). The result has no event id and no time of receipt.
func ParseImportedEvent(row []byte) (event.Batch, error) {
	batch := event.Batch{Events: make([]event.Event, 1)}
	given := false
	who, err := parseRow(row, "userId", func(r *reader, key string, v *fastjson.Value) (ok bool) {
		switch key {
		case "idempotencyKey":
			return setParsed(r, key, v, &batch.Key, core.ParseIdempotencyKey)
		case "event":
			if v.Type() == fastjson.TypeNull {
				return true
			}
			given = true
			var err error
			batch.Events[0], err = parseEvent(r.path(key), v)
			return r.fail(err)
		}
		return false
	})
	if err == nil && !given {
		err = core.Invalid("event", "is required")
	}
	if err != nil {
		return event.Batch{}, err
	}
	if f := gjson.GetBytes(row, "event.fields"); f.IsObject() {
		batch.Events[0].Fields = f.Raw
	}
	batch.Account, batch.User = who.Account, who.User
	return batch, nil
}

// Draw is a row of MUTATION/REDEEMABLE_REWARD_BALANCE.
type Draw struct {
	Account core.AccountID
	User    core.UserID
	Unit    string
	// Amount is 0 for a row that is to be skipped.
	Amount int64
}

// ParseDraw parses a row of MUTATION/REDEEMABLE_REWARD_BALANCE: a row of the report
// of redeemable balances with valueToRedeem added. An empty, zero or negative value
// redeems nothing, and fractions are truncated (clients 3.3.5).
func ParseDraw(row []byte) (Draw, error) {
	var d Draw
	value := ""
	who, err := parseRow(row, "id", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "unit":
			return setParsed(r, key, v, &d.Unit, anyText)
		case "valueToRedeem":
			if v.Type() == fastjson.TypeNumber {
				value, _ = plainDecimal(string(v.MarshalTo(nil)), maxDecimal)
				if value == "" {
					return r.fail(badDraw())
				}
				return true
			}
			return setParsed(r, key, v, &value, anyText)
		case "email", "firstName", "lastName", "type", "availableValue":
			return true
		}
		return false
	})
	if err != nil {
		return d, err
	}
	if d.Account, d.User = who.Account, who.User; d.Unit == "" {
		return d, core.Invalid("unit", "is required")
	}
	d.Amount, err = wholePart(value)
	return d, err
}

// wholePart returns a decimal number without its fraction, or 0 if it is empty or
// negative.
func wholePart(s string) (int64, error) {
	s = strings.TrimSpace(s)
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if !allDigits(whole) || !allDigits(fraction) || s != "" && whole == "" || len(whole) > 18 {
		return 0, badDraw()
	}
	if whole == "" || s[0] == '-' {
		return 0, nil
	}
	return strconv.ParseInt(whole, 10, 64)
}

func badDraw() error {
	return core.Invalid("valueToRedeem", "must be a number such as 12 or 12.5")
}

// rowUser identifies the user of a row.
type rowUser struct {
	Account core.AccountID
	User    core.UserID
}

// parseRow parses a row with the required ids of a user. userKey is the key of the
// user id.
func parseRow(row []byte, userKey string, take func(r *reader, key string, v *fastjson.Value) bool) (rowUser, error) {
	var account *core.AccountID
	var user *core.UserID
	if err := checkRow(row); err != nil {
		return rowUser{}, err
	}
	err := walk(row, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "accountId":
			return parsed(r, key, v, &account, core.ParseAccountID)
		case userKey:
			return parsed(r, key, v, &user, core.ParseUserID)
		}
		return take(r, key, v)
	})
	switch {
	case err != nil:
		return rowUser{}, err
	case account == nil:
		return rowUser{}, required("accountId", "RS044")
	case user == nil:
		return rowUser{}, required(userKey, "RS043")
	}
	return rowUser{Account: *account, User: *user}, nil
}
