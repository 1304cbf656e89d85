package abi

// Kind is the storage class of a Value, numbered as in sqlite.wit, variant value.
type Kind uint8

const (
	KindInteger Kind = iota
	KindReal
	KindText
	KindBlob
	KindNull
)

// Value is a database value. Create it with Int, Float, Text, Blob or Null. The zero
// Value is the integer 0.
type Value struct {
	kind    Kind
	integer int64
	real    float64
	data    string // of text and of blob
}

// Int returns an integer.
func Int(n int64) Value { return Value{kind: KindInteger, integer: n} }

// Float returns a real number. NaN is stored as NULL by SQLite.
func Float(f float64) Value { return Value{kind: KindReal, real: f} }

// Text returns a text, which must be UTF-8.
func Text(s string) Value { return Value{kind: KindText, data: s} }

// Blob returns a copy of b. A nil b is the empty blob, not NULL.
func Blob(b []byte) Value { return Value{kind: KindBlob, data: string(b)} }

// Null returns NULL.
func Null() Value { return Value{kind: KindNull} }

// Kind returns the kind of the value, which decides the accessor to use.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether the value is NULL.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Int64 returns an integer, and 0 for every other kind.
func (v Value) Int64() int64 { return v.integer }

// Float64 returns a real number, and 0 for every other kind.
func (v Value) Float64() float64 { return v.real }

// String returns a text, or the bytes of a blob, and "" for every other kind.
func (v Value) String() string { return v.data }

// Bytes returns a copy of a blob or a text, and nil for every other kind.
func (v Value) Bytes() []byte {
	if v.kind != KindBlob && v.kind != KindText {
		return nil
	}
	return append([]byte{}, v.data...)
}

// Rows is the result of a statement. Both fields are empty if it returns no rows.
type Rows struct {
	// Columns are the names of the columns, in the order of the values of each row.
	Columns []string
	Values  [][]Value
}

// DBCode classifies a DBError (sqlite.wit, variant error).
type DBCode uint8

const (
	// DBNoSuchDatabase is a name that is granted but not configured.
	DBNoSuchDatabase DBCode = iota
	// DBAccessDenied is a name that the manifest does not grant.
	DBAccessDenied
	// DBInvalidConnection is a DB that is closed or was never open.
	DBInvalidConnection
	// DBFull is a database that has reached its size limit.
	DBFull
	// DBIO is any other error: an invalid statement, a violated constraint, a result
	// above the host's limit, an unreachable server.
	DBIO
)

// DBError is the error of OpenDB and Execute.
type DBError struct {
	Code DBCode
	// Message is the database's text; empty unless Code is DBIO. It is for logs,
	// because it may quote the statement.
	Message string
}

// Error returns a text with the code and the message.
func (e *DBError) Error() string {
	switch e.Code {
	case DBNoSuchDatabase:
		return "abi: no such database"
	case DBAccessDenied:
		return "abi: access to database denied"
	case DBInvalidConnection:
		return "abi: invalid database connection"
	case DBFull:
		return "abi: database full"
	case DBIO:
		return "abi: database: " + e.Message
	}
	return "abi: database error of unknown number"
}
