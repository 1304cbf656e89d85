package wire

import (
	"reflect"
	"strings"
	"testing"

	"kith/core"
	"kith/core/job"
)

// The request of the Singer tap (clients 7.3.1).
func TestParseExport_Tap(t *testing.T) {
	const params = `{"createdOrUpdatedSince":"2019-05-01T17:41:45-07:00"}`
	got, err := ParseExport("t", []byte(`{"type": "USER", "format": "CSV", "name": "Stitch Streams users:2026-11-21 02:47:55.578584", "params": `+params+`}`))
	want := job.Input{
		Type: job.User, Name: "Stitch Streams users:2026-11-21 02:47:55.578584", Requester: "API", Format: job.CSV, Params: params,
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	p, err := ParseJobParams(job.User, params)
	if err != nil || !reflect.DeepEqual(p, job.Params{Changed: core.Span{From: 1556757705000}}) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestParseExport_Defaults(t *testing.T) {
	for _, body := range []string{
		`{"type":"REWARD"}`, `{"type":"REWARD","format":null,"name":null,"requester":null,"params":null}`,
	} {
		got, err := ParseExport("t", []byte(body))
		if want := (job.Input{Type: job.Reward, Requester: "API", Format: job.CSV, Params: "{}"}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func TestParseExport_Refuses(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                                   "type: is required",
		`{"type":null}`:                        "type: is required",
		`{"type":"QUERY/USER"}`:                "type: must be one of USER, USER_REFERRAL, REFERRAL, USER_REWARD_BALANCE, REWARD_BALANCE, REWARD",
		`{"type":"USER","format":"PDF"}`:       "format: must be one of CSV, XLSX",
		`{"type":"USER","outputFormat":"CSV"}`: "outputFormat: is not a key of this request",
		`{"type":"USER","fileRef":"x"}`:        "fileRef: is not a key of this request",
		`{"type":"USER","params":[]}`:          "params: must be an object",
		`{"type":"USER","params":{"x":1}}`:     "params.x: is not a key of this request",
		`{"type":"USER","params":{"createdSince":"yesterday"}}`:       "params.createdSince: must be a time in epoch milliseconds, or as text such as 2026-03-01, 2026-03-01T09:00:00 (UTC) or 2026-03-01T09:00:00+01:00",
		`{"type":"USER","params":{"createdSince":1.5}}`:               "params.createdSince: must be a whole number",
		`{"type":"USER","params":{"createdSince":-1}}`:                "params.createdSince: must be 0 or more",
		`{"type":"USER","params":{"at":1}}`:                           "params.at: is not a key of this request",
		`{"type":"USER","params":{"filter":{"key_eq":"x"}}}`:          "params.filter.key_eq: is not a key of this request",
		`{"type":"USER","params":{"fields":{"includeUserFields":1}}}`: "params.fields.includeUserFields: must be true or false",
		`{"type":"USER","params":{"fields":{"includeAll":true}}}`:     "params.fields.includeAll: is not a key of this request",
		`{"type":"USER","params":{"dateFormat":"DMY"}}`:               "params.dateFormat: must be MS, ISO or LOCAL",
	} {
		if got, err := ParseExport("t", []byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v\nwant %s", body, got, err, want)
		}
	}
}

func TestParseJobParams(t *testing.T) {
	for _, c := range []struct {
		typ    job.Type
		params string
		want   job.Params
	}{
		{job.User, `{}`, job.Params{}},
		{job.Referral, `{"createdSince":1,"createdBefore":2,"updatedSince":3,"updatedBefore":4,"createdOrUpdatedSince":5,"createdOrUpdatedBefore":6,
			"programId":"p","dateFormat":"ISO","fields":{"includeUserStatsFields":true},"filter":{}}`,
			job.Params{Created: core.Span{From: 1, Before: 2}, Updated: core.Span{From: 3, Before: 4}, Changed: core.Span{From: 5, Before: 6},
				Program: "p", Dates: job.DatesISO}},
		{job.User, `{"createdSince":"2025-01-01T00:00:00Z","createdBefore":"2025-01-01T00:00:00.5+00:00"}`,
			job.Params{Created: core.Span{From: 1735689600000, Before: 1735689600500}}},
		{job.User, `{"createdSince":0,"createdBefore":"1970-01-01T00:00:00Z","updatedBefore":null}`, job.Params{Created: core.Span{From: 1, Before: 1}}},
		{job.UserEvent, `{"filter":{"key_eq":"a","key_in":["b","c"]}}`, job.Params{EventKeys: []string{"a", "b", "c"}}},
		{job.ImportUser, `{"segments":["vip","~old"],"programId":"p","importEvaluationOptions":{"webhooks":false,"programs":true,"analytics":null}}`,
			job.Params{Segments: []string{"vip", "~old"}, Program: "p", Silent: true}},
		{job.ImportUserEvent, `{"importEvaluationOptions":{"webhooks":true}}`, job.Params{}},
		{job.RedeemableRewardBalance, `{"filter":{"unit_eq":"CENTS"}}`, job.Params{Unit: "CENTS"}},
	} {
		got, err := ParseJobParams(c.typ, c.params)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, %v", c.typ, c.params, got, err)
		}
	}
}

func TestParseJobInput(t *testing.T) {
	got, err := ParseJobInput("t", "jobInput", []byte(`{"type":"QUERY/USER","outputFormat":"XLSX","name":"n","requester":"me","mailtoEmail":"m@x.y"}`))
	want := job.Input{Type: job.User, Name: "n", Requester: "me", Format: job.XLSX, MailTo: "m@x.y", Params: "{}"}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseJobInput("t", "jobInput", []byte(`{"type":"USER"}`)); err == nil || !strings.HasPrefix(err.Error(), "jobInput.type: must be one of QUERY/USER, ") {
		t.Error(err)
	}
	for input, want := range map[string]string{
		`{}`:                       "jobInput.type: is required",
		`{"type":"MUTATION/USER"}`: "jobInput.fileRef: is required for this type of job",
		`{"type":"MUTATION/USER","fileRef":"imports/t/x_1.csv","params":{"createdSince":1}}`:                             "params.createdSince: is not a key of this request",
		`{"type":"MUTATION/USER","fileRef":"imports/t/x_1.csv","params":{"importEvaluationOptions":{"programs":false}}}`: "params.importEvaluationOptions.programs: cannot be turned off for imports; leave it out",
		`{"type":"QUERY/USER","fileRef":"imports/t/x_1.csv"}`:                                                            "jobInput.fileRef: must be left out for this type of job",
		`{"type":"QUERY/USER","fileRef":"imports/o/x_1.csv"}`:                                                            "jobInput.fileRef: is not the fileRef of a file that this tenant uploaded",
	} {
		if got, err := ParseJobInput("t", "jobInput", []byte(input)); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v\nwant %s", input, got, err, want)
		}
	}
}

func TestExport(t *testing.T) {
	j := job.Job{
		ID: "i", Status: job.Completed, Stats: job.Stats{Processed: 3}, Created: 1, Completed: 2, Expires: 100,
		Input: job.Input{Type: job.User, Requester: "API", Format: job.CSV, Params: `{"createdSince":7}`},
	}
	for now, status := range map[core.Time]string{99: "COMPLETED", 100: "EXPIRED"} {
		want := `{"id":"i","type":"USER","format":"CSV","name":null,"requester":"API","params":{"createdSince":7},"status":"` + status +
			`","stats":{"recordsProcessed":3,"errors":0},"dateCreated":1,"dateCompleted":2,"dateExpires":100}`
		if got := string(Export(j, now)); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if got := string(Exports([]job.Job{j}, 5, now)); got != `{"count":1,"totalCount":5,"data":[`+want+`]}` {
			t.Errorf("%s", got)
		}
	}
	want := `{"id":"i","operation":"QUERY","task":"USER","name":null,"requester":"API","outputFormat":"CSV","mailtoEmail":null,` +
		`"params":{"createdSince":7},"fileRef":null,"status":"COMPLETED","message":null,"stats":{"recordsProcessed":3,"errors":0},` +
		`"dateCreated":1,"dateCompleted":2,"dateExpires":100}`
	if got := string(JobEvent(j)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestParseExport_Params(t *testing.T) {
	for given, want := range map[string]string{
		`{ "createdSince": "2026-03-01" }`: `{ "createdSince": "2026-03-01" }`,
		`{"createdSince":null}`:            `{}`,
		`{"createdSince": 1,"updatedSince":null,"fields":{"includeUserFields":null}}`: `{"createdSince":1,"fields":{}}`,
		`null`: `{}`,
	} {
		in, err := ParseExport("t", []byte(`{"type":"USER","params":`+given+`}`))
		if err != nil || in.Params != want {
			t.Errorf("%s is stored as %s, %v", given, in.Params, err)
		}
	}
	for date, want := range map[string]core.Time{
		`"2026-03-01"`: 1772323200000, `"2026-03-01T09:00:00"`: 1772355600000, `"2026-03-01 09:00:00.5"`: 1772355600500,
		`"2026-03-01T09:00:00Z"`: 1772355600000, `"2026-03-01T09:00:00.000000+01:00"`: 1772352000000, `1.7723556E12`: 1772355600000,
	} {
		p, err := ParseJobParams(job.User, `{"createdSince":`+date+`}`)
		if err != nil || p.Created.From != want {
			t.Errorf("%s is %d, %v", date, p.Created.From, err)
		}
	}
}
