module kith

go 1.26.0

require (
	github.com/tidwall/gjson v1.18.0
	github.com/valyala/fastjson v1.6.7
)

require (
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
)
