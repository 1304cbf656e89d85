package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"kith/edge/abi"
)

// Bounds of the database calls of one request.
const (
	maxConnections = 64
	maxParams      = 4096
)

// sqliteOpen implements sqlite.open(name ptr, len, result).
func (g *guest) sqliteOpen(ctx context.Context, stack []uint64) error {
	b, err := g.view(uint32(stack[0]), uint32(stack[1]), "database name")
	if err != nil {
		return err
	}
	name, result := string(b), uint32(stack[2])
	d := g.host.options.Databases[name]
	switch {
	case !slices.Contains(g.host.app.databases, name):
		return g.answer(result, appendWords(nil, abi.TagErr, uint32(abi.DBAccessDenied)))
	case d == nil:
		return g.answer(result, appendWords(nil, abi.TagErr, uint32(abi.DBNoSuchDatabase)))
	case len(g.open) == maxConnections:
		return g.answerDBError(ctx, result, errors.New("too many connections in one request"))
	}
	g.open = append(g.open, d.Connect())
	return g.answer(result, appendWords(nil, abi.TagOK, uint32(len(g.open))))
}

// Database is a database that a name in sqlite_databases refers to. It is safe for
// concurrent use.
type Database interface {
	// Connect returns the connection for one sqlite.open.
	Connect() Connection
	// Begin is called when a request begins or continues, and may write soon; End when
	// it has ended or waits for another server. A database that groups writes can wait
	// for the requests in between.
	Begin()
	End()
	// Close ends all connections.
	Close() error
}

// Connection is a connection that a guest opened with sqlite.open. It is an alias, so that
// a package can implement Database without importing this one.
type Connection = interface {
	// Query runs a statement and returns its whole result: the names of the columns,
	// and the values of all rows, one row after the other. Arguments and values are
	// int64, float64, string, []byte or nil. Query does not keep a reference to text. If
	// the disk is full, the error has a method Full that returns true.
	Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error)
	// Writes reports whether a statement may write.
	Writes(ctx context.Context, text []byte) (bool, error)
	// Close ends the guest's use of the connection.
	Close() error
}

// mayWrite signals the databases that a request computes or reads, and may write soon.
func (h *Host) mayWrite() {
	for _, d := range h.options.Databases {
		d.Begin()
	}
}

// mayNotWrite signals the databases that a request has ended or waits for another server.
func (h *Host) mayNotWrite() {
	for _, d := range h.options.Databases {
		d.End()
	}
}

// closeConnections closes the connections and stores that a request left open.
func (g *guest) closeConnections() {
	for _, c := range g.open {
		if c != nil {
			_ = c.Close() // an error does not affect the answer
		}
	}
	g.open, g.stores = g.open[:0], g.stores[:0]
}

// sqliteClose implements sqlite.close(connection). A connection that is not open
// is ignored, as in Spin.
func (g *guest) sqliteClose(_ context.Context, stack []uint64) error {
	if i := uint32(stack[0]) - 1; i < uint32(len(g.open)) && g.open[i] != nil {
		_ = g.open[i].Close()
		g.open[i] = nil
	}
	return nil
}

// sqliteExecute implements sqlite.execute(connection, statement ptr, len,
// parameters ptr, count, result).
func (g *guest) sqliteExecute(ctx context.Context, stack []uint64) error {
	text, err := g.view(uint32(stack[1]), uint32(stack[2]), "statement")
	if err != nil {
		return err
	}
	args, err := g.takeParams(uint32(stack[3]), uint32(stack[4]))
	if err != nil {
		return err
	}
	at := uint32(stack[5])
	i := uint32(stack[0]) - 1
	if i >= uint32(len(g.open)) || g.open[i] == nil {
		return g.answer(at, appendWords(nil, abi.TagErr, uint32(abi.DBInvalidConnection)))
	}
	columns, values, err := g.query(ctx, g.open[i], text, args)
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // the request has ended, which ends the guest
	case err != nil:
		return g.answerDBError(ctx, at, err)
	}
	return g.putRows(ctx, at, columns, values)
}

// query runs a statement. A reserved instance runs none that writes.
func (g *guest) query(ctx context.Context, c Connection, text []byte, args []any) (columns []string, values []any, err error) {
	if g.reserved {
		if writes, err := c.Writes(ctx, text); err != nil {
			return nil, nil, err
		} else if writes && g.refuse() {
			return nil, nil, errReserved
		}
	}
	return c.Query(ctx, text, args)
}

// answerDBError writes an error result with the database's text, for the guest's log.
func (g *guest) answerDBError(ctx context.Context, result uint32, err error) error {
	var full interface{ Full() bool }
	if errors.As(err, &full) && full.Full() {
		return g.answer(result, appendWords(nil, abi.TagErr, uint32(abi.DBFull)))
	}
	return g.answerString(ctx, result, []uint32{abi.TagErr, uint32(abi.DBIO)}, err.Error())
}

// takeParams copies the parameters of a statement out of the guest.
func (g *guest) takeParams(ptr, count uint32) ([]any, error) {
	view, err := g.viewList(ptr, count, abi.ValueSize, abi.ValueAlign, maxParams, "parameter list")
	if err != nil {
		return nil, err
	}
	args := make([]any, 0, count)
	for ; len(view) > 0; view = view[abi.ValueSize:] {
		arg, err := g.takeValue(view[:abi.ValueSize])
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

func (g *guest) takeValue(record []byte) (any, error) {
	data := record[abi.ValueData:]
	switch kind := abi.Kind(record[0]); kind {
	case abi.KindInteger:
		return int64(binary.LittleEndian.Uint64(data)), nil
	case abi.KindReal:
		return math.Float64frombits(binary.LittleEndian.Uint64(data)), nil
	case abi.KindText:
		return g.copyString(data, "text parameter")
	case abi.KindBlob:
		b, err := g.viewString(data, "blob parameter")
		return append([]byte{}, b...), err // not nil, which would be NULL
	case abi.KindNull:
		return nil, nil
	default:
		return nil, faultf("parameter of kind %d", kind)
	}
}

// putRows writes a result of abi.SQLiteExecuteSize: ok, columns, rows.
func (g *guest) putRows(ctx context.Context, at uint32, columns []string, values []any) (err error) {
	list := g.scratch[:0]
	for _, name := range columns {
		if list, err = g.put(ctx, list, name); err != nil {
			return err
		}
	}
	g.scratch = list
	record, err := g.putList(ctx, appendWords(nil, abi.TagOK), list, len(columns), abi.WordAlign)
	if err != nil {
		return err
	}
	count := 0
	var rows []byte
	for ; len(values) > 0; values = values[len(columns):] {
		if rows, err = g.putRow(ctx, rows, values[:len(columns)]); err != nil {
			return err
		}
		count++
	}
	if record, err = g.putList(ctx, record, rows, count, abi.WordAlign); err != nil {
		return err
	}
	return g.answer(at, record)
}

// putRow copies one row and appends its pointer and count to rows.
func (g *guest) putRow(ctx context.Context, rows []byte, values []any) (_ []byte, err error) {
	list := g.scratch[:0]
	for _, v := range values {
		if list, err = g.putValue(ctx, list, v); err != nil {
			return nil, err
		}
	}
	g.scratch = list
	return g.putList(ctx, rows, list, len(values), abi.ValueAlign)
}

// putValue appends one value to list.
func (g *guest) putValue(ctx context.Context, list []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return appendValue(list, abi.KindNull, 0), nil
	case int64:
		return appendValue(list, abi.KindInteger, uint64(v)), nil
	case float64:
		return appendValue(list, abi.KindReal, math.Float64bits(v)), nil
	case string:
		return g.put(ctx, appendWords(list, uint32(abi.KindText), 0), v)
	case []byte:
		return g.putBytes(ctx, appendWords(list, uint32(abi.KindBlob), 0), v)
	default:
		return nil, fmt.Errorf("host: the database returned a %T", v)
	}
}

func appendValue(list []byte, kind abi.Kind, bits uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendWords(list, uint32(kind), 0), bits)
}
