// Package native converts parameters and rows between abi.Native and database/sql. With
// it the component's handlers run on a database/sql database when the standard Go
// compiler compiles them, as in tests.
package native

import (
	"database/sql"
	"fmt"

	"kith/edge/abi"
)

// Args converts the parameters of a statement for database/sql.
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

// Rows reads all rows of a statement; the caller closes found. A real number or a blob is
// an error, since no statement of the component returns one.
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
	return abi.Value{}, fmt.Errorf("native: unsupported value of type %T", cell)
}
