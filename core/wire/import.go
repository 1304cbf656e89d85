package wire

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/reward"
)

// Row is a row of an import file.
type Row struct {
	// line is a line of a JSONL file, or nil.
	line []byte
	// layout and cells are those of a row of a CSV file.
	layout importfile.Layout
	cells  []string
}

// LineRow returns a row of a JSONL file.
func LineRow(line []byte) Row { return Row{line: line} }

// CellsRow returns a row of a CSV file with the columns of l. Empty cells count as
// missing.
func CellsRow(l importfile.Layout, cells []string) Row { return Row{layout: l, cells: cells} }

var arenas fastjson.ArenaPool

// object calls parse with the row as an object, whose values are valid until parse
// returns.
func (row Row) object(parse func(*fastjson.Value) error) error {
	if row.line != nil {
		if err := checkRow(row.line); err != nil {
			return err
		}
		return parseChecked(row.line, parse)
	}
	a := arenas.Get()
	if row.size() <= maxKept {
		defer func() {
			a.Reset()
			arenas.Put(a)
		}()
	}
	return parse(row.values(a))
}

// size returns the number of bytes of the cells.
func (row Row) size() (n int) {
	for _, cell := range row.cells {
		n += len(cell)
	}
	return n
}

// values returns the cells as an object.
func (row Row) values(a *fastjson.Arena) *fastjson.Value {
	objects, at := []*fastjson.Value{a.NewObject()}, []string(nil)
	for _, i := range row.layout.Order {
		if row.cells[i] == "" {
			continue
		}
		path := row.layout.Columns[i].Path
		parents := path[:len(path)-1]
		for !beginsWith(parents, at) {
			objects, at = objects[:len(objects)-1], at[:len(at)-1]
		}
		for len(at) < len(parents) {
			below := a.NewObject()
			objects[len(objects)-1].Set(parents[len(at)], below)
			objects, at = append(objects, below), append(at, parents[len(at)])
		}
		objects[len(objects)-1].Set(path[len(path)-1], cellValue(a, row.layout.Columns[i].Kind, row.cells[i]))
	}
	return objects[0]
}

// cellValue returns the value of a cell. If the cell is not of the column's kind, it
// is a string, so that the parser reports the error.
func cellValue(a *fastjson.Arena, kind importfile.Kind, cell string) *fastjson.Value {
	switch {
	case kind == importfile.Boolean && strings.EqualFold(cell, "true"), kind == importfile.Any && cell == "true":
		return a.NewTrue()
	case kind == importfile.Boolean && strings.EqualFold(cell, "false"), kind == importfile.Any && cell == "false":
		return a.NewFalse()
	case kind == importfile.Integer && plainNumber(cell, false), kind == importfile.Any && plainNumber(cell, true):
		return a.NewNumberString(cell)
	}
	// An arena writes control characters as Go does, not as JSON.
	if strings.ContainsFunc(cell, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' }) {
		if v, err := fastjson.ParseBytes(appendString(nil, cell)); err == nil {
			return v
		}
	}
	return a.NewString(cell)
}

// sent returns the JSON of a key as it was sent, or "". Below a key of a CSV row it
// has the columns of that key.
func (row Row) sent(path ...string) string {
	if row.line != nil {
		return gjson.GetBytes(row.line, strings.Join(path, ".")).Raw
	}
	w := writer{}
	if row.appendTo(&w, path); len(w.b) == len("{}") {
		return ""
	}
	return string(w.b)
}

// Cell returns the cell of a column of the row's layout.
func (row Row) Cell(column int) string { return row.cells[column] }

// BeyondASCII returns the first cell of a CSV file's row that is not of ASCII only, or "".
func (row Row) BeyondASCII() string {
	i := slices.IndexFunc(row.cells, func(cell string) bool {
		return strings.IndexFunc(cell, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
	})
	if i < 0 {
		return ""
	}
	return row.cells[i]
}

// Value returns what the row has under a name, such as a column, as text: a cell as it is,
// and another value than a string of a JSONL file as JSON. It is empty if there is none.
func (row Row) Value(name string) string {
	if row.line != nil {
		if !gjson.ValidBytes(row.line) {
			return ""
		}
		return gjson.GetBytes(row.line, name).String()
	}
	for i, column := range row.layout.Columns {
		if column.Name() == name {
			return row.cells[i]
		}
	}
	return ""
}

// AppendJSON appends the row as a JSON object, such as a line of a JSONL file.
func (row Row) AppendJSON(b []byte) []byte {
	if row.line != nil {
		return append(b, row.line...)
	}
	w := writer{b: b}
	row.appendTo(&w, nil)
	return w.b
}

// appendTo writes the cells below a path as an object.
func (row Row) appendTo(w *writer, below []string) {
	w.open()
	at := below
	for _, i := range row.layout.Order {
		path := row.layout.Columns[i].Path
		if row.cells[i] == "" || !beginsWith(path[:len(path)-1], below) {
			continue
		}
		parents := path[:len(path)-1]
		for !beginsWith(parents, at) {
			w.close()
			at = at[:len(at)-1]
		}
		for len(at) < len(parents) {
			w.key(parents[len(at)])
			w.open()
			at = append(at[:len(at):len(at)], parents[len(at)])
		}
		w.cell(path[len(path)-1], row.layout.Columns[i].Kind, row.cells[i])
	}
	for range at[len(below):] {
		w.close()
	}
	w.close()
}

func beginsWith(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
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
	if len(digits) > 16 || point && (!fraction || !core.Digits(rest)) {
		return false
	}
	return core.Digits(whole) && (whole == "0" || whole[0] != '0')
}

// CheckImportRow parses a row as its job would at a time, and returns the error.
func CheckImportRow(tenant core.TenantAlias, t job.Type, row Row, now core.Time) (err error) {
	switch t {
	case job.ImportUser:
		var created core.Time
		if _, created, err = ParseImportedUser(tenant, row); err == nil {
			err = referral.CheckCreated(created, now)
		}
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
func ParseImportedUser(tenant core.TenantAlias, row Row) (u referral.UserUpdate, created core.Time, err error) {
	err = row.object(func(v *fastjson.Value) (err error) {
		p := userParser{tenant: tenant, sent: func(key string) string { return row.sent(key) }}
		if p.u.Account, err = rowID(v, "accountId", "RS044", core.ParseAccountID); err != nil {
			return err
		}
		if p.u.ID, err = rowID(v, "id", "RS043", core.ParseUserID); err != nil {
			return err
		}
		if u, err = p.result(fields(v, "", p.key)); p.created != nil {
			created = core.Time(*p.created)
		}
		return err
	})
	return u, created, err
}

// rowID returns an id of a row.
func rowID[T any](row *fastjson.Value, key, rs string, parse func(field, s string) (T, error)) (id T, err error) {
	v := row.Get(key)
	switch {
	case v == nil || v.Type() == fastjson.TypeNull:
		return id, required(key, rs)
	case v.Type() != fastjson.TypeString:
		return id, core.Malformed(key, "must be a string")
	}
	return parse(key, string(v.GetStringBytes()))
}

// checkRow checks that a line is a JSON object with the limits of a body.
func checkRow(line []byte) error {
	err := checkObject(line, MaxBody)
	switch {
	case err == nil:
		return nil
	case gjson.ValidBytes(line) && gjson.ParseBytes(line).IsArray():
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
func ParseDeletion(row Row) (Deletion, error) {
	var d Deletion
	err := parseRow(row, &d.Account, "id", &d.User, func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "preserveEmptyAccount":
			return r.boolean(&d.PreserveEmptyAccount, key, v)
		case "doNotTrack":
			return r.boolean(&d.DoNotTrack, key, v)
		}
		return false
	})
	return d, err
}

// ParseImportedEvent parses a row of MUTATION/USER_EVENT, which has one event
// (clients 3.3.4). The result has no event id and no time of receipt. Money that cannot be read
// is an error.
func ParseImportedEvent(row Row) (event.Call, error) {
	batch := event.Call{Events: make([]event.Event, 1)}
	given := false
	err := parseRow(row, &batch.Account, "userId", &batch.User, func(r *reader, key string, v *fastjson.Value) (ok bool) {
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
		return event.Call{}, err
	}
	if f := row.sent("event", "fields"); f != "" && f[0] == '{' {
		batch.Events[0].Fields = f
	}
	// An event of a call is kept as it is, and its order says what is wrong. A row can be
	// corrected instead, and would be a silent success otherwise.
	if field, reason := conversion.Unreadable(OrderEvent(batch.Events[0], nil)); field != "" {
		return event.Call{}, core.Invalid("event.fields."+field, reason)
	}
	return batch, nil
}

// ParseDraw parses a row of MUTATION/REDEEMABLE_REWARD_BALANCE: a row of the report
// of redeemable balances with valueToRedeem added. An empty, zero or negative value
// redeems nothing, which is the amount 0, and fractions are truncated (clients 3.3.5).
func ParseDraw(row Row) (reward.Draw, error) {
	var d reward.Draw
	value := ""
	err := parseRow(row, &d.Account, "id", &d.User, func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "unit":
			return setParsed(r, key, v, &d.Unit, anyText)
		case "currency":
			return setParsed(r, key, v, &d.Currency, optionalCurrency)
		case "valueToRedeem":
			if v.Type() == fastjson.TypeNumber {
				value, _ = plainDecimal(string(v.MarshalTo(nil)), maxDecimal)
				if value == "" {
					return r.fail(badDraw())
				}
				return true
			}
			return setParsed(r, key, v, &value, anyText)
		case "idempotencyKey":
			return setParsed(r, key, v, &d.Key, core.ParseIdempotencyKey)
		case "email", "firstName", "lastName", "type", "availableValue":
			return true
		}
		return false
	})
	if err != nil {
		return d, err
	}
	if d.Unit == "" {
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
	if s != "" && !core.Digits(whole) || fraction != "" && !core.Digits(fraction) || len(whole) > 18 {
		return 0, badDraw()
	}
	if whole == "" || s[0] == '-' {
		return 0, nil
	}
	return strconv.ParseInt(whole, 10, 64)
}

// optionalCurrency parses a currency that may be empty, as in the report.
func optionalCurrency(field, s string) (string, error) {
	if s == "" {
		return "", nil
	}
	return reward.ParseCurrency(field, s)
}

func badDraw() error {
	return core.Invalid("valueToRedeem", "must be a number such as 12 or 12.5")
}

// parseRow parses a row with the required ids of a user. userKey is the key of the
// user id.
func parseRow(row Row, account *core.AccountID, userKey string, user *core.UserID, take func(r *reader, key string, v *fastjson.Value) bool) error {
	err := row.object(func(v *fastjson.Value) error {
		return fields(v, "", func(r *reader, key string, v *fastjson.Value) bool {
			switch key {
			case "accountId":
				return setParsed(r, key, v, account, core.ParseAccountID)
			case userKey:
				return setParsed(r, key, v, user, core.ParseUserID)
			}
			return take(r, key, v)
		})
	})
	switch {
	case err != nil:
		return err
	case *account == "":
		return required("accountId", "RS044")
	case *user == "":
		return required(userKey, "RS043")
	}
	return nil
}
