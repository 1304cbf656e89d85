// Package native lets the component's handlers, compiled by plain Go, run statements
// on a database/sql database: it converts parameters and rows for abi.Native.
package native

import (
	"database/sql"
	"fmt"

	"kith/edge/abi"
)

// Args returns parameters of a statement as database/sql takes them.
func Args(params []abi.Value) []any {
	args := make([]any, len(params))
	for i, p := range params {
		switch p.Kind() {
		case abi.KindInteger:
			args[i] = p.Int64()
		case abi.KindText:
			args[i] = p.String()
		}
	}
	return args
}

// Rows reads all rows that a statement found; the caller closes found. No statement
// of the component has real numbers or blobs: a value of such a type is an error.
func Rows(found *sql.Rows) (rows abi.Rows, err error) {
	if rows.Columns, err = found.Columns(); err != nil {
		return rows, err
	}
	cells, places := make([]any, len(rows.Columns)), make([]any, len(rows.Columns))
	for i := range cells {
		places[i] = &cells[i]
	}
	for found.Next() {
		if err := found.Scan(places...); err != nil {
			return rows, err
		}
		row := make([]abi.Value, len(cells))
		for i, cell := range cells {
			if row[i], err = value(cell); err != nil {
				return rows, err
			}
		}
		rows.Values = append(rows.Values, row)
	}
	return rows, found.Err()
}

func value(cell any) (abi.Value, error) {
	switch cell := cell.(type) {
	case int64:
		return abi.Int(cell), nil
	case string:
		return abi.Text(cell), nil
	case nil:
		return abi.Null(), nil
	}
	return abi.Value{}, fmt.Errorf("native: a value of type %T", cell)
}
