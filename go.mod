module kith

go 1.26

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/alecthomas/kong v1.12.1
	github.com/fermyon/spin/sdk/go/v2 v2.2.0
	github.com/stretchr/testify v1.11.1
	github.com/tetratelabs/wazero v1.12.0
	github.com/tidwall/gjson v1.18.0
	github.com/tursodatabase/libsql-client-go v0.0.0-20260528064733-9d5d30a29a60
	github.com/valyala/fastjson v1.6.7
	modernc.org/sqlite v1.60.1
)
