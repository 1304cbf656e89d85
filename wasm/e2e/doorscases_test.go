package e2e

// bodyDoors are bodies and content types, with calls that the edge answers itself and others.
var bodyDoors = []door{
	{"PUT {user}", "key", `{"firstName":"Ann","lastName":"Bo"}`, "200; id={id}; firstName=Ann", "{user} 200; firstName=Ann; lastName=Bo"},
	{"PUT {user}", "key", `{}`, "200; id={id}; accountId={id}", "{user} 200; firstName="},
	{"PUT {user}", "key", ``, "400; ~body", "{user} 404"},
	{"PUT {user}", "key", `[]`, "400; ~the body must be a JSON object", "{user} 404"},
	{"PUT {user}", "key", `{"firstName":"Ann"`, "400; apiErrorCode=INVALID_JSON_REQUEST; ~not valid JSON", "{user} 404"},
	{"PUT {user}", "key", "{\"firstName\":\"A\xffn\"}", "400; ~the body must be UTF-8", "{user} 404"},
	{"PUT {user}", "key | Content-Type: application/json;charset=UTF-8", `{"firstName":"Zoë 🎉"}`, "200; firstName=Zoë 🎉", "{user} 200; firstName=Zoë 🎉"},
	{"PUT {user}", "key | Content-Type: APPLICATION/JSON", `{}`, "200", "{user} 200"},
	{"PUT {user}", "key | Content-Type: text/plain", `{}`, "415; rsCode=RS046; ~application/json", "{user} 404"},
	{"PUT {user}", "key | Content-Type: application/x-www-form-urlencoded", `firstName=Ann`, "415", "{user} 404"},
	{"PUT {user}", "key", `{"firstName":"<5000*x>"}`, "400; ~firstName; ~4096 bytes", "{user} 404"},
	{"PUT {user}", "key", `{"customFields":{"a":"<1048576*x>"}}`, "413; apiErrorCode=PAYLOAD_TOO_LARGE; ~1 MiB", "{user} 404"},
	{"PUT {user}", "key", `{"plan":"pro"}`, "400; ~plan: is not a key of this request", "{user} 404"},
	{"PUT {user}", "key", `{"firstName":"a","firstName":"b"}`, "400; ~firstName: occurs twice", "{user} 404"},
	{"POST {known}/events", "key", `{"events":[{"key":"visit"}]}`, "200; events.0.key=visit", ""},
	{"POST {known}/events", "key | Content-Type: text/plain", `{"events":[{"key":"visit"}]}`, "415; ~application/json", ""},
}
