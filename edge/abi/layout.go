package abi

// Exports of the guest. All parameters and results are i32.
const (
	// ExportHandle takes method, uri pointer and length, headers pointer and
	// count, params pointer and count (always empty), body tag, pointer and
	// length; it returns a pointer to a response record. See spin-http.c.
	ExportHandle = "handle-http-request"
	// ExportRealloc takes old pointer, old size, alignment and new size and
	// returns a pointer; it traps when memory is exhausted.
	ExportRealloc = "canonical_abi_realloc"
	// ExportInitialize takes and returns nothing. It is called once, before all
	// others.
	ExportInitialize = "_initialize"
	// ExportPrepare takes and returns nothing. A host that uses an instance for several
	// requests calls it once after ExportInitialize, and then begins each request with the
	// memory that it left. A component derives there what does not depend on a request.
	// Spin does not call it.
	ExportPrepare = "prepare"
	// ExportArena is never called. A component that exports it allocates from lower to
	// higher addresses and frees nothing, so the host may get one block for several
	// values, and finds nothing of a request above the last block.
	ExportArena = "arena"
	// ExportMemory is the guest's linear memory.
	ExportMemory = "memory"
)

// Modules and names of the imports.
const (
	// ModuleSQLite has open(name ptr, len, result), execute(connection, statement
	// ptr, len, parameters ptr, count, result) and close(connection). See sqlite.c.
	ModuleSQLite  = "sqlite"
	SQLiteOpen    = "open"
	SQLiteExecute = "execute"
	SQLiteClose   = "close"
	// ModuleOutbound has request: the ten parameters of ExportHandle and a result
	// pointer. See wasi-outbound-http.c.
	ModuleOutbound  = "wasi-outbound-http"
	OutboundRequest = "request"
	// ModuleConfig has get-config(key ptr, len, result). See spin-config.c.
	ModuleConfig = "spin-config"
	ConfigGet    = "get-config"
	// ModuleKeyValue has open(name ptr, len, result), get(store, key ptr, len,
	// result), set(store, key ptr, len, value ptr, len, result), delete and exists
	// like get, and close(store). See key-value.c; get-keys is not used.
	ModuleKeyValue = "key-value"
	KeyValueOpen   = "open"
	KeyValueGet    = "get"
	KeyValueSet    = "set"
	KeyValueDelete = "delete"
	KeyValueExists = "exists"
	KeyValueClose  = "close"
	// ModuleWASI is WASI preview 1, of which this package uses random_get.
	ModuleWASI = "wasi_snapshot_preview1"
)

// Methods of a request, by number (http-types.wit, enum method). Other methods cannot
// be represented: the host responds with 405.
var methods = [...]string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"}

// MethodNumber returns the number of a method in upper case; false if it has none.
func MethodNumber(method string) (uint32, bool) {
	for i, m := range methods {
		if m == method {
			return uint32(i), true
		}
	}
	return 0, false
}

// MethodName returns the method with a number; false if there is none.
func MethodName(number uint32) (string, bool) {
	if number >= uint32(len(methods)) {
		return "", false
	}
	return methods[number], true
}

// Sizes in bytes of the elements of lists, and their alignments. An empty string or
// list has no memory: its pointer is the alignment.
const (
	// StringSize is a pointer and a length, 4 bytes each. The bytes it points
	// to are aligned to ByteAlign and are UTF-8.
	StringSize = 8
	ByteAlign  = 1
	// HeaderSize is the name's string and then the value's.
	HeaderSize = 2 * StringSize
	// RowSize is a pointer to values and their count.
	RowSize = 8
	// WordAlign is the alignment of lists of strings, headers and rows, and of
	// every record that is returned through a pointer.
	WordAlign = 4
	// ValueSize is the size of a database value: its kind in the first byte and, at
	// ValueData, an int64, a float64, or the pointer and length of a text or blob.
	ValueSize  = 16
	ValueData  = 8
	ValueAlign = 8
)

// Tags of option and expected, in their first byte.
const (
	TagNone = 0
	TagSome = 1
	TagOK   = 0
	TagErr  = 1
)

// The response record that ExportHandle returns a pointer to.
const (
	ResponseSize      = 28
	ResponseStatus    = 0  // uint16
	ResponseHasHeader = 4  // option tag
	ResponseHeader    = 8  // pointer, count
	ResponseHasBody   = 16 // option tag
	ResponseBody      = 20 // pointer, length
)

// The result of OutboundRequest: expected<response, http-error>. The response begins
// at OutboundData and has the layout of that of ExportHandle.
const (
	OutboundSize = OutboundData + ResponseSize
	OutboundTag  = 0
	OutboundData = 4 // response, or the HTTPError as one byte
)

// The result of SQLiteOpen and SQLiteExecute: expected<…, error>.
const (
	SQLiteOpenSize    = 16
	SQLiteExecuteSize = 20
	SQLiteTag         = 0
	SQLiteConnection  = 4  // uint32, of open
	SQLiteColumns     = 4  // pointer, count of strings, of execute
	SQLiteRows        = 12 // pointer, count of rows, of execute
	SQLiteErrorCode   = 4  // DBCode as one byte
	SQLiteErrorText   = 8  // pointer, length; with DBIO only
)

// The result of ConfigGet: expected<string, error>.
const (
	ConfigSize      = 16
	ConfigTag       = 0
	ConfigValue     = 4 // pointer, length
	ConfigErrorCode = 4 // ConfigCode as one byte
	ConfigErrorText = 8 // pointer, length
)

// The result of every function of ModuleKeyValue: expected<…, error>.
const (
	KeyValueSize      = 16
	KeyValueTag       = 0
	KeyValueStore     = 4 // uint32, of open
	KeyValueValue     = 4 // pointer, length, of get
	KeyValuePresent   = 4 // one byte, of exists
	KeyValueErrorCode = 4 // KVCode as one byte
	KeyValueErrorText = 8 // pointer, length; with KVIO only
)

// KVCode classifies a failure of a key-value store (key-value.wit, variant error).
type KVCode uint8

const (
	// KVTableFull is a request that opened too many stores.
	KVTableFull KVCode = iota
	// KVNoSuchStore is a name that is granted but not configured.
	KVNoSuchStore
	// KVAccessDenied is a name that the manifest does not grant.
	KVAccessDenied
	// KVInvalidStore is a store that is closed or was never open.
	KVInvalidStore
	// KVNoSuchKey is a key without a value.
	KVNoSuchKey
	// KVIO is any other error.
	KVIO
)

// Error returns a text for logs.
func (c KVCode) Error() string {
	switch c {
	case KVTableFull:
		return "abi: too many key-value stores are open"
	case KVNoSuchStore:
		return "abi: no such key-value store"
	case KVAccessDenied:
		return "abi: access to key-value store denied"
	case KVInvalidStore:
		return "abi: invalid key-value store"
	case KVNoSuchKey:
		return "abi: no such key"
	}
	return "abi: key-value store failed"
}

// ConfigCode is the reason why a variable could not be read (spin-config.wit). Every
// code has a text.
type ConfigCode uint8

const (
	// ConfigProvider is an error of a provider of variables.
	ConfigProvider ConfigCode = iota
	// ConfigInvalidKey is an invalid name of a variable.
	ConfigInvalidKey
	// ConfigInvalidSchema is an invalid manifest.
	ConfigInvalidSchema
	// ConfigOther is any other error, such as an undefined variable.
	ConfigOther
)
