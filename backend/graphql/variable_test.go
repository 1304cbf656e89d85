package graphql_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// A call with a variable of the wrong type is refused: it deletes no user and returns no
// unfiltered list. The error names the variable and the rule.
func TestVariables_WrongTypeIsRefused(t *testing.T) {
	b := newBench(t)
	const user, page = `accountId:"anna",id:"anna"`, `{data{id}}`
	for _, c := range []struct{ query, variables, says string }{
		{`mutation($v:Boolean!){deleteUser(` + user + `,doNotTrack:$v)}`, `{"v":"true"}`, "variables.v: must be true or false"},
		{`mutation($v:Boolean!){deleteUser(` + user + `,doNotTrack:$v)}`, `{"v":1}`, "variables.v: must be true or false"},
		{`mutation($v:Boolean!){deleteUser(` + user + `,preserveEmptyAccount:$v)}`, `{"v":"true"}`, "variables.v: must be true or false"},
		{`mutation($v:Boolean!){deleteAccount(accountId:"anna",doNotTrack:$v)}`, `{"v":"true"}`, "variables.v: must be true or false"},
		{`query($v:Boolean!){jobs{data{downloadUrl(publicLink:$v)}}}`, `{"v":"true"}`, "variables.v: must be true or false"},
		{`query($v:ReferralFilterInput){referrals(filter:$v)` + page + `}`, `{"v":{"referrerModerationStatus":"DENIED"}}`, "variables.v.referrerModerationStatus: is not a key of ReferralFilterInput; leave it out"},
		{`query($v:ReferralFilterInput){referrals(filter:$v)` + page + `}`, `{"v":{"referrerModerationStatus_eq":"denied"}}`, "variables.v.referrerModerationStatus_eq: must be one of PENDING, APPROVED, DENIED"},
		{`query($v:RewardFilterInput){rewards(filter:$v)` + page + `}`, `{"v":{"type":"CREDIT"}}`, "variables.v.type: is not a key of RewardFilterInput; leave it out"},
		{`query($v:RewardFilterInput){user(` + user + `){rewards(filter:$v)` + page + `}}`, `{"v":{"type":"CREDIT"}}`, "variables.v.type: is not a key of RewardFilterInput; leave it out"},
		{`query($v:JobFilterInput){jobs(filter:$v)` + page + `}`, `{"v":{"status":"PENDING"}}`, "variables.v.status: is not a key of JobFilterInput; leave it out"},
		{`query($v:JobFilterInput){jobs(filter:$v)` + page + `}`, `{"v":{"AND":[{"OR":{"status":"PENDING"}}]}}`, "variables.v.AND[0].OR.status: is not a key of JobFilterInput; leave it out"},
		{`query($v:ProgramFilterInput){programs(filter:$v)` + page + `}`, `{"v":{"id":"x"}}`, "variables.v.id: is not a key of ProgramFilterInput; leave it out"},
		{`query($v:UserFilterInput){users(filter:$v)` + page + `}`, `{"v":{"id":"x"}}`, "variables.v.id: is not a key of UserFilterInput; leave it out"},
		{`query($v:UserEventDataFilterInput){userEvents(filter:$v)` + page + `}`, `{"v":{"key_eq":"x"}}`, "variables.v.key_eq: is not a key of UserEventDataFilterInput; leave it out"},
		{`query($v:RSDate){referrals(filter:{dateReferralStarted_gte:$v})` + page + `}`, `{"v":"soon"}`, "variables.v: must be a time in epoch milliseconds, or as text such as 2026-03-01T09:00:00Z"},
		{`query($v:RewardBalanceFilterInput){user(` + user + `){rewardBalanceDetails(filter:$v){unit}}}`, `{"v":{"unit":"x"}}`, "variables.v.unit: is not a key of RewardBalanceFilterInput; leave it out"},
		{`mutation($v:ModerationInput!){moderateGraphNodes(graphNodeType:REFERRAL,filter:{},moderationInput:$v){count}}`, `{"v":{"action":"DENY","depth":1}}`, "variables.v.depth: is not a key of ModerationInput; leave it out"},
		{`mutation($v:UserAnalyticsEvent!){createUserAnalyticsEvent(eventMeta:$v)}`, `{"v":{"id":"anna","accountId":"anna","programId":"classic","type":"OTHER"}}`, "variables.v.type: must be one of USER_REFERRAL_PROGRAM_LOADED_EVENT, USER_REFERRAL_PROGRAM_ENGAGEMENT_EVENT"},
		{`mutation($v:RedeemCreditInput!){redeemUserCredit(accountId:"anna",userId:"anna",redeemCreditInput:$v){unit}}`, `{"v":{"amount":4.5,"unit":"POINT"}}`, "variables.v.amount: must be a whole number"},
		{`mutation($v:UserInput!){upsertUser(userInput:$v){id}}`, `{"v":{"id":"anna","accountId":"anna","referable":"no"}}`, "variables.v.referable: must be true or false"},
		{`mutation($v:[UserInput!]!){upsertUsers(userInputs:$v){...on User{id}}}`, `{"v":[{"id":"anna"},null]}`, "variables.v[1]: must not be null"},
		{`query($v:Int!){referrals(limit:$v)` + page + `}`, `{"v":true}`, "variables.v: must be a whole number of up to 32 bits"},
		{`query($v:Int!){referrals(limit:$v)` + page + `}`, `{"v":{"a":[1]}}`, "variables.v: must be a whole number of up to 32 bits"},
	} {
		status, answer := b.send(t, b.keyHolder(t), bodyOf(c.query, c.variables))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, c.says, gjson.Get(answer, "errors.0.message").String(), "%s %s\n%s", c.query, c.variables, answer)
		require.NotContains(t, answer, `"data"`)
	}
	require.JSONEq(t, `{"user":{"id":"anna"}}`, b.run(t, `{user(`+user+`){id}}`))
}

// Variables are checked before the first field of a mutation runs.
func TestVariables_AreCheckedBeforeAnythingRuns(t *testing.T) {
	b := newBench(t)
	_, answer := b.send(t, b.keyHolder(t), bodyOf(
		`mutation($v:Boolean!){first:upsertUser(userInput:{accountId:"new",id:"new"}){id} second:deleteUser(accountId:"anna",id:"anna",doNotTrack:$v)}`, `{"v":"true"}`))
	require.NotContains(t, answer, `"data"`)
	require.JSONEq(t, `{"user":null}`, b.run(t, `{user(accountId:"new",id:"new"){id}}`))
}

// Values are accepted that the GraphQL specification converts to the type.
func TestVariables_OfTheRightType(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ query, variables, data string }{
		{`query($l:Int){users(limit:$l){count}}`, `{}`, `{"users":{"count":1}}`},
		{`query($l:Int){users(limit:$l){count}}`, `{"l":0}`, `{"users":{"count":0}}`},
		{`query($l:Int!=5){users(limit:$l){count}}`, `{}`, `{"users":{"count":1}}`},
		{`query($l:Int!=5){users(limit:$l){count}}`, `{"l":2.0}`, `{"users":{"count":1}}`},
		{`query($i:ID!){referral(id:$i){id}}`, `{"i":5}`, `{"referral":null}`},
		{`query($i:[ID!]){programs(filter:{id_in:$i}){count}}`, `{"i":"classic"}`, `{"programs":{"count":1}}`},
		{`query($d:RSDate){referrals(filter:{dateReferralStarted_gte:$d}){count}}`, `{"d":1.6E12}`, `{"referrals":{"count":0}}`},
		{`query($n:Long!){formatRewardPrettyValue(value:$n,unit:"POINT")}`, `{"n":2.0}`, `{"formatRewardPrettyValue":"2 POINT"}`},
		{`query($u:UserIdInput){renderWidget(user:$u){__typename}}`, `{"u":null}`, `{"renderWidget":{"__typename":"WidgetResponse"}}`},
		{`query($f:JobFilterInput){jobs(filter:$f){count}}`, `{"f":{"AND":{"status_in":"PENDING"}}}`, `{"jobs":{"count":0}}`},
		{`mutation($e:UserEventInput!){logUserEvent(userEventInput:$e){userId}}`, `{"e":{"userId":"anna","accountId":"anna","events":{"key":"x","dateTriggered":1.7E12,"id":4}}}`, `{"logUserEvent":{"userId":"anna"}}`},
		{`mutation($p:Boolean){deleteUser(accountId:"anna",id:"anna",preserveEmptyAccount:$p)}`, `{}`, `{"deleteUser":true}`},
	} {
		require.JSONEq(t, c.data, b.call(t, b.keyHolder(t), bodyOf(c.query, c.variables)), c.query)
	}
}

// A time of 0 or before is a bound like any other: rows without the date are in no span.
func TestFilter_TheBeginningOfTime(t *testing.T) {
	b := newBench(t)
	b.run(t, `mutation{createReward(accountId:"anna",userId:"anna",rewardInput:{type:PCT_DISCOUNT,discountPercent:1}){id}}`)
	require.JSONEq(t, `{"all":{"count":1},"made":{"count":1},"before":{"count":0},"cancelled":{"count":0},"day":{"count":0}}`, b.run(t, `{
		all:rewards(filter:{dateCancelled_gte:null}){count} made:rewards(filter:{dateCreated_gte:0}){count} before:rewards(filter:{dateCreated_lt:0}){count}
		cancelled:rewards(filter:{dateCancelled_gte:-1}){count} day:rewards(filter:{dateCancelled_gte:"1970-01-01"}){count}}`))
}

// No error of a document or of its variables has Go syntax.
func TestErrors_HaveNoGoSyntax(t *testing.T) {
	b := newBench(t)
	values := []string{`true`, `1`, `1.5`, `"x"`, `[]`, `[{}]`, `{"a":[1]}`, `null`}
	for _, kind := range []string{"Int", "Int!", "Boolean", "String", "ID!", "[ID!]", "RSDate", "RSLocale", "ReferralShareMedium", "UserFilterInput", "[UserInput!]!", "RSShallowMap", "Long"} {
		for _, value := range values {
			for _, body := range []string{
				bodyOf(`query($v:`+kind+`){identityFunction(value:[$v])}`, `{"v":`+value+`}`),
				bodyOf(`query($v:`+kind+`){users(filter:$v,limit:$v){count}}`, `{"v":`+value+`}`),
			} {
				_, answer := b.send(t, b.keyHolder(t), body)
				for _, sign := range []string{"%!", "map[", "json.Number", "int64", "float64", "interface", "nil", "reflect"} {
					require.False(t, strings.Contains(answer, sign), "%s\n%s", body, answer)
				}
			}
		}
	}
}

// bodyOf returns the body of a call with variables.
func bodyOf(query, variables string) string {
	return strings.TrimSuffix(document(query), "}") + `,"variables":` + variables + `}`
}
