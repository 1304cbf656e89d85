package libsql

import (
	"errors"
	"fmt"
	"strings"
)

// classify reports whether one SQL statement can write. It refuses several statements
// in one text, transactions (a guest may end at any instruction, and would leave them
// open), and commands about connections and files.
func classify(sql string) (write bool, err error) {
	if strings.IndexByte(sql, 0) >= 0 {
		return false, errors.New("a statement cannot contain a zero byte")
	}
	s := scanner{rest: sql}
	first := strings.ToUpper(s.next())
	switch first {
	case "SELECT", "VALUES", "EXPLAIN":
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER":
		write = true
	case "WITH":
	case "":
		return false, errors.New("the statement is empty")
	default:
		return false, fmt.Errorf("%s is not allowed: a statement reads or writes rows, and is a transaction of its own", first)
	}
	for depth := 0; ; {
		switch token := s.next(); strings.ToUpper(token) {
		case "":
			return write, nil
		case "(":
			depth++
		case ")":
			depth--
		case ";":
			if s.next() != "" {
				return false, errors.New("more than one statement")
			}
			return write, nil
		case "INSERT", "REPLACE", "UPDATE", "DELETE":
			write = write || first == "WITH" && depth == 0
		}
	}
}

// variable are the functions and names of SQLite whose values depend on more than the file
// and the arguments (https://sqlite.org/deterministic.html).
var variable = map[string]bool{
	"CHANGES": true, "CURRENT_DATE": true, "CURRENT_TIME": true, "CURRENT_TIMESTAMP": true, "DATE": true, "DATETIME": true,
	"JULIANDAY": true, "LAST_INSERT_ROWID": true, "LOAD_EXTENSION": true, "RANDOM": true, "RANDOMBLOB": true,
	"SQLITE_OFFSET": true, "STRFTIME": true, "TIME": true, "TIMEDIFF": true, "TOTAL_CHANGES": true, "UNIXEPOCH": true,
}

// isDeterministic reports whether the result of a statement that reads depends on the file
// and the arguments only. It is false if the statement has a quoted name or names a
// pragma, which may be such a function.
func isDeterministic(sql string) bool {
	s := scanner{rest: sql}
	for {
		switch token := strings.ToUpper(s.next()); {
		case token == "":
			return true
		case variable[token], token == quotedName, strings.HasPrefix(token, "PRAGMA_"):
			return false
		}
	}
}

// quotedText and quotedName are the tokens for all quoted texts and names.
const quotedText, quotedName = "'", `"`

// scanner splits SQL into words and single characters, and leaves out white space,
// comments and what is quoted. It need not be exact: a statement that it takes for a read
// runs on a connection that cannot write.
type scanner struct{ rest string }

func (s *scanner) next() string {
	for s.rest != "" {
		switch c := s.rest[0]; {
		case c <= ' ':
			s.rest = s.rest[1:]
		case strings.HasPrefix(s.rest, "--"):
			s.skip(2, "\n")
		case strings.HasPrefix(s.rest, "/*"):
			s.skip(2, "*/")
		case c == '\'' || c == '"' || c == '`':
			s.skip(1, s.rest[:1]) // a doubled quote counts as two adjacent ones
			if c == '\'' {
				return quotedText
			}
			return quotedName
		case c == '[':
			s.skip(1, "]")
			return quotedName
		default:
			return s.word()
		}
	}
	return ""
}

// skip drops n bytes, and then everything up to and including the mark.
func (s *scanner) skip(n int, mark string) {
	_, s.rest, _ = strings.Cut(s.rest[n:], mark)
}

func (s *scanner) word() string {
	n := 0
	for n < len(s.rest) && isWordByte(s.rest[n]) {
		n++
	}
	n = max(n, 1)
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
