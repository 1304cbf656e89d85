//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

// rawValue is the record of ValueSize bytes of one value. data is a uint64 for the
// alignment that Spin requires.
type rawValue struct {
	kind Kind
	data uint64
}

// maxParams is the most parameters of a statement. All statements use the same block
// for them.
const maxParams = 64

var (
	params [maxParams]rawValue
	// result is written by the host during a call and read before it returns.
	result [SQLiteExecuteSize / 4]uint32
)

//go:wasmimport sqlite open
func sqliteOpen(name unsafe.Pointer, nameLen uint32, result unsafe.Pointer)

//go:wasmimport sqlite execute
func sqliteExecute(connection uint32, statement unsafe.Pointer, statementLen uint32,
	params unsafe.Pointer, paramCount uint32, result unsafe.Pointer)

//go:wasmimport sqlite close
func sqliteClose(connection uint32)

// DB is an open database. The zero DB is not open.
type DB struct{ handle uint32 }

// OpenDB opens a database by the name that the manifest grants, usually "default". It
// is cheap if the host pools connections. The error is a *DBError.
func OpenDB(name string) (DB, error) {
	n := viewString(name)
	sqliteOpen(n.ptr, n.count, unsafe.Pointer(&result))
	if byte(result[SQLiteTag]) != TagOK {
		return DB{}, takeDBError()
	}
	return DB{result[SQLiteConnection/4]}, nil
}

// Execute runs one statement with its parameters bound in order, and returns all its
// rows. The host limits their number and size. Each statement is a transaction;
// BEGIN, ATTACH and PRAGMA are refused. The error is a *DBError.
func (db DB) Execute(statement string, values ...Value) (Rows, error) {
	if len(values) > maxParams {
		return Rows{}, &DBError{Code: DBIO, Message: "too many parameters"}
	}
	for i := range values {
		encodeValue(&params[i], &values[i])
	}
	s := viewString(statement)
	sqliteExecute(db.handle, s.ptr, s.count,
		unsafe.Pointer(&params), uint32(len(values)), unsafe.Pointer(&result))
	if byte(result[SQLiteTag]) != TagOK {
		return Rows{}, takeDBError()
	}
	return Rows{Columns: resultList(SQLiteColumns).takeStrings(), Values: takeRows(resultList(SQLiteRows))}, nil
}

// Close closes the connection. The host closes open connections at the end of the
// request.
func (db DB) Close() { sqliteClose(db.handle) }

func resultList(offset uintptr) list {
	return *(*list)(unsafe.Add(unsafe.Pointer(&result), offset))
}

func takeDBError() error {
	e := &DBError{Code: DBCode(byte(result[SQLiteErrorCode/4]))}
	if e.Code == DBIO {
		e.Message = resultList(SQLiteErrorText).takeString()
	}
	return e
}

func encodeValue(raw *rawValue, v *Value) {
	raw.kind = v.kind
	switch v.kind {
	case KindInteger:
		*(*int64)(unsafe.Pointer(&raw.data)) = v.integer
	case KindReal:
		*(*float64)(unsafe.Pointer(&raw.data)) = v.real
	case KindText, KindBlob:
		*(*list)(unsafe.Pointer(&raw.data)) = viewString(v.data)
	}
}

// takeRows converts the host's rows to Values. All of them share one block, so that a
// result of any size needs two allocations.
func takeRows(l list) [][]Value {
	if l.count == 0 {
		return nil
	}
	rows := unsafe.Slice((*list)(l.ptr), l.count)
	values := make([]Value, 0, int(l.count)*int(rows[0].count))
	taken := make([][]Value, len(rows))
	for i, row := range rows {
		start := len(values)
		for j := range unsafe.Slice((*rawValue)(row.ptr), row.count) {
			raw := (*rawValue)(unsafe.Add(row.ptr, j*ValueSize))
			values = append(values, takeValue(raw))
		}
		taken[i] = values[start:len(values):len(values)]
	}
	return taken
}

func takeValue(raw *rawValue) Value {
	v := Value{kind: raw.kind}
	switch raw.kind {
	case KindInteger:
		v.integer = *(*int64)(unsafe.Pointer(&raw.data))
	case KindReal:
		v.real = *(*float64)(unsafe.Pointer(&raw.data))
	case KindText, KindBlob:
		v.data = (*list)(unsafe.Pointer(&raw.data)).takeString()
	}
	return v
}
