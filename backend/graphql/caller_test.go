package graphql_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/ast"

	"kith/backend/app/base"
)

// Each field of Query and Mutation accepts the API key. It accepts a user token, or a call
// without credentials, only where this table says so.
func TestCallers(t *testing.T) {
	b := newBench(t)
	const anna = `accountId:"anna",id:"anna"`
	const annas = `accountId:"anna",userId:"anna"`
	const events = `userId:"anna",accountId:"anna",events:[{key:"visit"}]`
	seen := map[string]bool{}
	for _, c := range []struct {
		field string
		// own is the status with anna's token, other with ben's, anonymous without
		// credentials; 0 is success.
		own, other, anonymous int64
	}{
		{`{identityFunction(value:1)}`, 0, 0, 0},
		{`{ids(length:2)}`, 0, 0, 0},
		{`mutation{createUser(userInput:{` + anna + `}){id}}`, 409, 403, 401},
		{`mutation{createCookieUser(userInput:{firstName:"Cara"}){id}}`, 403, 403, 401},
		{`{viewer{permissions}}`, 0, 0, 0},
		{`{tenant{tenantAlias}}`, 403, 403, 401},
		{`{user(` + anna + `){id}}`, 0, 403, 401},
		{`{referral(id:"1"){id}}`, 403, 403, 401},
		{`{referrals{count}}`, 403, 403, 401},
		{`{analyticsSeries{from}}`, 403, 403, 401},
		{`{topReferrers{count}}`, 403, 403, 401},
		{`{referralCode(referralCode:"ANNA10"){code}}`, 0, 0, 0},
		{`{formatRewardPrettyValue(value:1,unit:"POINT")}`, 0, 0, 0},
		{`{jwks}`, 0, 0, 0},
		{`{renderWidget(user:{` + anna + `}){template}}`, 0, 403, 0},
		{`mutation{upsertUsers(userInputs:[{` + anna + `}]){... on User{id}}}`, 0, 0, 0},
		{`mutation{logUserEvents(userEventInputs:[{` + events + `}]){userId}}`, 0, 0, 0},
		{`mutation{blockUser(` + anna + `){user{id}}}`, 403, 403, 401},
		{`mutation{unblockUser(` + anna + `){user{id}}}`, 403, 403, 401},
		{`mutation{updateRewardStatus(id:"1",status:CANCELLED){id}}`, 403, 403, 401},
		{`mutation{moderateGraphNodes(graphNodeType:REFERRAL,filter:{},moderationInput:{action:"APPROVE"}){count}}`, 403, 403, 401},
		{`mutation{redeemRewardCredit(id:"1",redeemCreditInput:{amount:1,unit:"POINT"}){unit}}`, 403, 403, 401},
		{`mutation{deleteUser(accountId:"ben",id:"ben")}`, 403, 403, 401},
		{`mutation{deleteAccount(accountId:"ben")}`, 403, 403, 401},
		{`{users{count}}`, 403, 403, 401},
		{`{reward(id:"1"){id}}`, 403, 403, 401},
		{`{rewards{count}}`, 403, 403, 401},
		{`{program(id:"classic"){id}}`, 403, 403, 401},
		{`{programs{count}}`, 403, 403, 401},
		{`{userEvents{count}}`, 403, 403, 401},
		{`{webhookSubscriptions{count}}`, 403, 403, 401},
		{`{job(id:"1"){id}}`, 403, 403, 401},
		{`{jobs{count}}`, 403, 403, 401},
		{`{validateJobCreation(jobInput:{type:"QUERY/USER"}){errors}}`, 403, 403, 401},
		{`mutation{validateJobCreation(jobInput:{type:"QUERY/USER"}){errors}}`, 403, 403, 401},
		{`mutation{createJob(jobInput:{type:"QUERY/USER"}){id}}`, 403, 403, 401},
		{`mutation{stopJob(id:"1"){id}}`, 403, 403, 401},
		{`mutation{deleteJob(id:"1"){deletedCount}}`, 403, 403, 401},
		{`mutation{createReward(` + annas + `,rewardInput:{type:PCT_DISCOUNT,discountPercent:1}){id}}`, 403, 403, 401},
		{`mutation{redeemUserCredit(` + annas + `,redeemCreditInput:{amount:1,unit:"POINT"}){unit}}`, 403, 403, 401},
		{`mutation{upsertWebhookSubscription(webhookSubscriptionInput:{endpointUrl:"https://a.example/"}){name}}`, 403, 403, 401},
		{`mutation{testWebhookSubscription(endpointUrl:"https://a.example/"){subscription{name}}}`, 403, 403, 401},
		{`mutation{setProgramInvitations(programId:"classic",invitations:[]){id}}`, 403, 403, 401},
		{`mutation{deleteWebhookSubscription(endpointUrl:"https://a.example/"){deletedCount}}`, 403, 403, 401},
		{`mutation{createUserAnalyticsEvent(eventMeta:{` + anna + `,programId:"classic",type:USER_REFERRAL_PROGRAM_LOADED_EVENT})}`, 0, 403, 0},
		{`mutation{upsertUser(userInput:{` + anna + `}){id}}`, 0, 403, 401},
		{`mutation{logUserEvent(userEventInput:{` + events + `}){userId}}`, 0, 403, 401},
	} {
		seen[rootField.FindStringSubmatch(c.field)[1]] = true
		_, answer := b.send(t, b.keyHolder(t), document(c.field))
		require.NotContains(t, []int64{401, 403}, gjson.Get(answer, "errors.0.extensions.apiError.statusCode").Int(), "%s\n%s", c.field, answer)
		for _, tried := range []struct {
			caller base.Caller
			want   int64
		}{
			{b.userToken(t, "anna"), c.own}, {b.userToken(t, "ben"), c.other}, {b.anonymous(t), c.anonymous},
		} {
			status, answer := b.send(t, tried.caller, document(c.field))
			require.Equal(t, 200, status)
			require.Equal(t, tried.want, gjson.Get(answer, "errors.0.extensions.apiError.statusCode").Int(), "%s\n%s", c.field, answer)
		}
	}
	for _, field := range offered(t) {
		require.True(t, seen[field], "the table has no row for %s", field)
	}
}

// rootField matches the first field of a document.
var rootField = regexp.MustCompile(`^(?:mutation)?{(\w+)`)

// offered returns the names of the fields of Query and Mutation.
func offered(t *testing.T) (all []string) {
	t.Helper()
	schema := loadedSchema(t)
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation} {
		for _, f := range root.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				all = append(all, f.Name)
			}
		}
	}
	return all
}

// If one of several inputs is refused, the others are run.
func TestCallers_OneOfSeveralInputs(t *testing.T) {
	b := newBench(t)
	data := b.call(t, b.userToken(t, "anna"), document(`mutation{
		upsertUsers(userInputs:[{accountId:"anna",id:"anna"},{accountId:"ben",id:"ben"}]){... on User{id} ... on ApiError{statusCode}}
		logUserEvents(userEventInputs:[{userId:"ben",accountId:"ben",events:[{key:"a"}]},{userId:"anna",accountId:"anna",events:[{key:"a"}]}]){events{key} ... on ApiError{statusCode}}
	}`))
	require.JSONEq(t, `{"upsertUsers":[{"id":"anna"},{"statusCode":403}],"logUserEvents":[{"events":null,"statusCode":403},{"events":[{"key":"a"}]}]}`, data)
}

// A caller with a user token sees of other users only what a friend may see.
func TestUser_OthersAreHiddenFromTokens(t *testing.T) {
	b := newBench(t)
	b.run(t, `mutation{upsertUser(userInput:{accountId:"ben",id:"ben@example.com",email:"ben@example.com",firstName:"Ben",lastName:"Berg",
		customFields:{a:1},segments:["vip"],referralCode:"BEN20",referredByCodes:["ANNA10"]}){id}}`)
	const others = `referrals{totalCount data{referredUser{id accountId firstName lastName lastInitial email imageUrl referralCode referralCodes
		customFields segments referredByCodes dateCreated referrals{totalCount} referredBy{code} referredByReferrals{id}}}}`
	data := b.call(t, b.userToken(t, "anna"), document(`{viewer{...on User{id email `+others+`}}}`))
	require.JSONEq(t, `{"viewer":{"id":"anna","email":"anna@example.com","referrals":{"totalCount":1,"data":[{"referredUser":{
		"id":null,"accountId":null,"firstName":"Ben","lastName":null,"lastInitial":"B","email":null,"imageUrl":"","referralCode":null,"referralCodes":{},
		"customFields":null,"segments":[],"referredByCodes":[],"dateCreated":null,"referrals":{"totalCount":0},"referredBy":null,"referredByReferrals":[]}}]}}}`, data)
	data = b.run(t, `{user(accountId:"anna",id:"anna"){referrals{data{referredUser{id email segments referredBy{code isConverted}}}}}}`)
	require.JSONEq(t, `{"user":{"referrals":{"data":[{"referredUser":{"id":"ben@example.com","email":"ben@example.com","segments":["vip"],"referredBy":{"code":"ANNA10","isConverted":false}}}]}}}`, data)
}
