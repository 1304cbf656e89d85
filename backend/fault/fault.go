// Package fault makes an error of the panic of an HTTP handler, so that it is answered and logged
// as other errors are. net/http would log it and close the connection, which a caller cannot
// distinguish from a network that failed.
package fault

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
)

// Panic is the panic of a handler. As the value of a log record it has the stack, too.
type Panic struct {
	Value any
	Stack string
	begun bool
}

func (p *Panic) Error() string { return fmt.Sprint("the handler panicked: ", p.Value) }

func (p *Panic) LogValue() slog.Value {
	return slog.GroupValue(slog.String("text", p.Error()), slog.String("stack", p.Stack))
}

// Of returns the panic of a value that was recovered. Call it in the deferred function: it has the
// stack of its caller.
func Of(value any) *Panic { return &Panic{Value: value, Stack: string(debug.Stack())} }

// Catch calls h, and returns its error, or its panic as a *Panic. After a panic, the headers are
// those that w had before. It does not catch http.ErrAbortHandler, which means the closed connection.
func Catch(w http.ResponseWriter, h func(w http.ResponseWriter) error) (err error) {
	answer, before := &answerWriter{ResponseWriter: w}, maps.Clone(w.Header())
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if of, ok := value.(error); ok && errors.Is(of, http.ErrAbortHandler) {
			panic(value)
		}
		clear(w.Header())
		maps.Copy(w.Header(), before)
		p := Of(value)
		p.begun = answer.begun
		err = p
	}()
	return h(answer)
}

// Abort cuts the connection if err is the panic of a handler that had begun its answer: no other
// can follow, and the part must not be taken for a whole one. Log err before.
func Abort(err error) {
	if p, ok := errors.AsType[*Panic](err); ok && p.begun {
		panic(http.ErrAbortHandler)
	}
}

// answerWriter knows whether an answer has begun.
type answerWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *answerWriter) WriteHeader(status int) {
	w.begun = w.begun || status >= 200
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
