package trace

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"
)

// Statement begins the span of a database statement, or if that is empty of a wait with a
// name, and returns the function that ends it. It has the form of store.Primary.Observe.
// There is no span if the context has none that is sampled: work that no request waits for
// is not traced.
func (t *Tracer) Statement(ctx context.Context, wait, text string) func(error) {
	if t == nil || !otel.SpanFromContext(ctx).IsRecording() {
		return nil
	}
	name, kind := wait, otel.SpanKindInternal
	if text != "" {
		name, kind = verb(text), otel.SpanKindClient
	}
	_, span := t.tracer.Start(ctx, name, otel.WithSpanKind(kind))
	if text != "" {
		span.SetAttributes(attribute.String("db.system.name", "sqlite"), attribute.String("db.query.text", text[:min(len(text), maxText)]))
	}
	return func(err error) {
		fail(span, err)
		span.End()
	}
}

// verb returns the first word of a statement, which is the name of its span.
func verb(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\n("); i > 0 {
		text = text[:i]
	}
	return strings.ToUpper(text[:min(len(text), 16)])
}

// Database is a database of the component, and Connection a connection to it: they have
// the methods of host.Database and host.Connection.
type (
	Database interface {
		Connect() Connection
		Begin()
		End()
		Close() error
	}
	Connection = interface {
		Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error)
		Writes(ctx context.Context, text []byte) (bool, error)
		Close() error
	}
)

// Database makes a span of each statement of a database.
func (t *Tracer) Database(d Database) Database {
	if t == nil {
		return d
	}
	return tracedDatabase{d, t}
}

type tracedDatabase struct {
	Database
	tracer *Tracer
}

// Connect returns the connection for one sqlite.open.
func (d tracedDatabase) Connect() Connection { return tracedConnection{d.Database.Connect(), d.tracer} }

type tracedConnection struct {
	Connection
	tracer *Tracer
}

// Query runs a statement.
func (c tracedConnection) Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error) {
	if !otel.SpanFromContext(ctx).IsRecording() {
		return c.Connection.Query(ctx, text, args)
	}
	end := c.tracer.Statement(ctx, "", string(text)) // a copy: text is memory of the component
	columns, values, err = c.Connection.Query(ctx, text, args)
	end(err)
	return columns, values, err
}
