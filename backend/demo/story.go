package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/app"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/orderdb"
	"kith/core"
	"kith/core/event"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/webhook"
)

// Story plays 90 days of the demo shop with invented people: they follow share links,
// sign up, buy and return. Each step runs the use case that a call of a shop runs, with a
// clock that shows the time of the step, so that referrals, orders and rewards have the
// times at which they would have happened.
type Story struct {
	Engine *app.Engine
	Log    *slog.Logger
}

const (
	// storyDays is the length of the story.
	storyDays = 90
	// storyEndpoint is a webhook endpoint that does not exist (RFC 6761, 6.4).
	storyEndpoint = "https://hooks.morrow-coffee.invalid/kith"
	// storyEnd is the user whose sign-up is the last step.
	storyEnd core.UserID = "story-end"
)

// Played reports whether the story was played for a tenant.
func (s Story) Played(ctx context.Context, tenant string) (bool, error) {
	return s.known(ctx, core.TenantAlias(tenant), storyEnd)
}

func (s Story) known(ctx context.Context, tenant core.TenantAlias, id core.UserID) (bool, error) {
	_, err := s.Engine.Users.ByID(ctx, tenant, core.AccountID(id), id)
	if is(err, core.CodeNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Play plays the story for a tenant. It reports each step: done of all. If it was
// interrupted, it continues: a step that is done changes nothing.
func (s Story) Play(ctx context.Context, tenant string, report func(done, all int, text string)) error {
	p := &play{Story: s, tenant: core.TenantAlias(tenant), now: s.Engine.Now(), random: rand.New(rand.NewPCG(1, 2))} // #nosec G404 -- it invents people
	p.write()
	slices.SortStableFunc(p.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for i, one := range p.steps {
		report(i, len(p.steps), one.text)
		if err := one.do(ctx, p.at(one.at)); err != nil {
			return fmt.Errorf("%s: %w", one.text, err)
		}
	}
	report(len(p.steps), len(p.steps), "The story was played.")
	return nil
}

// play is one performance of the story.
type play struct {
	Story
	tenant core.TenantAlias
	// now is the end of the story.
	now    core.Time
	random *rand.Rand
	steps  []step
	// friends is the number of friends who have signed up.
	friends int
}

// step is something that happens at a time.
type step struct {
	at   core.Time
	text string
	do   func(context.Context, *app.Engine) error
}

// at returns the use cases with a clock that shows a time of the story.
func (p *play) at(t core.Time) *app.Engine { return earlier(p.Engine, t) }

func (p *play) add(at core.Time, text string, do func(context.Context, *app.Engine) error) {
	if at <= p.now {
		p.steps = append(p.steps, step{at, text, do})
	}
}

// sharer is a customer who shares a link. weight is how many friends follow it.
type sharer struct {
	first, last string
	medium      string
	joined      int // days after the beginning
	weight      int
}

var sharers = []sharer{
	{"Maya", "Okafor", "FACEBOOK", 0, 9}, {"Jonas", "Lindqvist", "EMAIL", 2, 7}, {"Priya", "Raman", "WHATSAPP", 5, 6},
	{"Tomás", "Herrera", "TWITTER", 9, 4}, {"Ines", "Duarte", "DIRECT", 16, 3}, {"Felix", "Brandt", "LINKEDIN", 30, 2},
}

var firstNames = []string{"Ada", "Ben", "Chloé", "Dmitri", "Elif", "Farid", "Greta", "Hugo", "Ivy", "Jun", "Kofi", "Lena", "Milo", "Nora", "Omar", "Pia",
	"Quentin", "Rosa", "Sven", "Tara", "Uma", "Viktor", "Wanda", "Xenia", "Yusuf", "Zoë", "Aron", "Bella", "Cem", "Dora"}

var lastNames = []string{"Adler", "Bakker", "Costa", "Dubois", "Evans", "Fischer", "Garcia", "Haddad", "Ito", "Jansen", "Kowalski", "Larsen", "Moreau"}

// write writes the steps of the story.
func (p *play) write() {
	begin := p.now - storyDays*core.Day
	p.add(p.now-3*core.Day, "The shop subscribes a webhook", p.subscribe)
	for _, s := range sharers {
		id := storyID(s.first)
		p.add(begin+core.Time(s.joined)*core.Day+9*core.Hour, s.first+" signs up and shares a link", p.signUp(id, s.first, s.last, "example.com", link.Attribution{}))
	}
	for day := range storyDays {
		for _, s := range sharers {
			if day <= s.joined {
				continue
			}
			p.day(begin+core.Time(day)*core.Day, day, s)
		}
	}
	p.add(p.now-2*core.Day, "A friend signs up with a disposable address", p.signUp("story-quick", "Quick", "Silver", "mailinator.com", p.link(sharers[0], p.now-2*core.Day)))
	p.add(p.now-core.Day, "and orders, so a moderator must look", p.buy("story-quick", "story-quick-1", "89.00"))
	p.add(p.now-core.Hour, "Maya spends credit", p.spend(storyID("Maya"), 500))
	p.add(p.now, "The story ends", p.signUp(storyEnd, "Story", "End", "example.com", link.Attribution{}))
}

// day writes what the friends of a sharer do on a day. Visits grow over the weeks, and
// are fewer at weekends.
func (p *play) day(at core.Time, day int, s sharer) {
	weekend := time.UnixMilli(int64(at)).UTC().Weekday()%6 == 0
	visits := p.random.IntN(s.weight*(40+day)/60 + 1)
	if weekend {
		visits /= 2
	}
	if visits == 0 {
		return
	}
	noon := at + 12*core.Hour + core.Time(p.random.IntN(300))*core.Minute
	bots := int64(p.random.IntN(2))
	joins := p.random.IntN(100) < 8*visits
	var id core.UserID
	if joins {
		p.friends++
		id = core.UserID("story-" + strconv.Itoa(p.friends))
	}
	p.add(noon, strconv.Itoa(visits)+" visitors follow the link of "+s.first, p.visit(s, id, int64(visits), bots))
	if joins {
		p.friend(id, noon+core.Minute, s)
	}
}

// friend writes what a friend does: some only sign up, others buy or subscribe, and a
// few return what they bought.
func (p *play) friend(id core.UserID, at core.Time, s sharer) {
	first, last := firstNames[p.friends%len(firstNames)], lastNames[p.friends%len(lastNames)]
	p.add(at, first+" signs up", p.signUp(id, first, last, "example.org", p.link(s, at)))
	fate := p.random.IntN(100)
	order := string(id) + "-1"
	switch bought := at + core.Time(1+p.random.IntN(72))*core.Hour; {
	case fate < 35:
	case fate < 75:
		p.add(bought, first+" buys the grinder", p.buy(id, order, "80.10"))
		if fate >= 68 {
			p.add(bought+core.Time(2+p.random.IntN(9))*core.Day, first+" returns the grinder", p.takeBack(id, order))
		}
	default:
		for month := range 3 {
			revenue := "18.00"
			if month == 0 {
				revenue = "16.20"
			}
			p.add(at+(14+30*core.Time(month))*core.Day, first+" is charged for the coffee", p.buy(id, string(id)+"-"+strconv.Itoa(month+1), revenue))
		}
	}
}

func storyID(first string) core.UserID {
	return core.UserID("story-" + strings.ToLower(strings.ReplaceAll(first, "á", "a")))
}

// code returns the code of a sharer in the program of the shop.
func (s sharer) code() core.ReferralCode {
	return core.ReferralCode(strings.ToUpper(string(storyID(s.first))[len("story-"):]) + "-COFFEE")
}

// link returns what the cookie of a sharer's link has.
func (p *play) link(s sharer, at core.Time) link.Attribution {
	return link.Attribution{Program: ShopProgram, Code: s.code(), ShareMedium: s.medium, Visited: at}
}

// subscribe subscribes the endpoint that does not exist.
func (p *play) subscribe(ctx context.Context, e *app.Engine) error {
	_, err := e.Webhooks.Subscribe(ctx, p.tenant, webhook.Request{Endpoint: storyEndpoint, Name: "A server that does not exist"})
	return err
}

// visit counts people and bots who followed a link. If the friend who joins on that day
// exists, the visits were counted before.
func (p *play) visit(s sharer, friend core.UserID, people, bots int64) func(context.Context, *app.Engine) error {
	return func(ctx context.Context, e *app.Engine) error {
		if friend != "" {
			if known, err := p.known(ctx, p.tenant, friend); err != nil || known {
				return err
			}
		}
		f := link.Followed{Tenant: p.tenant, Program: ShopProgram, Code: s.code(), ShareMedium: link.ShareMedium(s.medium), EngagementMedium: "EMBED", By: link.Person}
		for range people {
			e.Analytics.Visits.Add(f)
		}
		f.By = link.Bot
		for range bots {
			e.Analytics.Visits.Add(f)
		}
		return e.Analytics.Visits.Flush(ctx)
	}
}

// signUp identifies a person, with the cookie of a share link unless that is empty.
func (p *play) signUp(id core.UserID, first, last, domain string, by link.Attribution) func(context.Context, *app.Engine) error {
	return func(ctx context.Context, e *app.Engine) error {
		if known, err := p.known(ctx, p.tenant, id); err != nil || known {
			return err
		}
		email := string(id) + "@" + domain
		in := rules.Identification{Server: true, Update: referral.UserUpdate{Account: core.AccountID(id), ID: id, FirstName: &first, LastName: &last, Email: &email}}
		if by.Code != "" {
			in.Visit.Cookie = link.CookieName(p.tenant) + "=" + by.Encode(e.Keys.Cookie(p.tenant))
		}
		for _, s := range sharers {
			if storyID(s.first) == id {
				in.Update.Codes = []referral.UserCode{{Program: ShopProgram, Code: s.code()}}
			}
		}
		_, err := e.Identification.Identify(ctx, p.tenant, in)
		return err
	}
}

// buy logs a purchase.
func (p *play) buy(id core.UserID, order, revenue string) func(context.Context, *app.Engine) error {
	return p.log(id, "order-"+order, "purchase", `{"order_id":"`+order+`","revenue":`+revenue+`,"currency":"USD"}`)
}

// takeBack logs the return of an order.
func (p *play) takeBack(id core.UserID, order string) func(context.Context, *app.Engine) error {
	return p.log(id, "refund-"+order, "refund", `{"order_id":"`+order+`"}`)
}

// busyWait is how long a step waits for events of others.
const busyWait = 5 * time.Second

var errBusy = errors.New("demo: other events wait")

// log logs an event and applies it to its order. This is one transaction: otherwise the
// workers, whose clock shows the present, would apply the event.
func (p *play) log(id core.UserID, key, name, fields string) func(context.Context, *app.Engine) error {
	return func(ctx context.Context, e *app.Engine) error {
		ctx, cancel := context.WithTimeout(ctx, busyWait)
		defer cancel()
		for {
			err := e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error { return p.logWithin(ctx, tx, e, id, key, name, fields) })
			if !errors.Is(err, errBusy) {
				return err
			}
			select {
			case <-ctx.Done():
				return errors.New("other events wait for 5 s already; play the story when no events are sent")
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

func (p *play) logWithin(ctx context.Context, tx *store.Tx, e *app.Engine, id core.UserID, key, name, fields string) error {
	// Events of others must be applied with the clock of the workers.
	for _, waits := range []func(context.Context, store.Reads) (bool, error){eventdb.IntakeWaits, orderdb.Waiting} {
		if busy, err := waits(ctx, tx.Reads); err != nil || busy {
			return cmp.Or(err, errBusy)
		}
	}
	c := event.Call{Account: core.AccountID(id), User: id, Key: core.IdempotencyKey(key), Trusted: true, Events: []event.Event{{Key: name, Fields: fields}}}
	c.Stamp(e.Now(), e.Entropy6())
	added, err := eventdb.AppendIntakeWithin(ctx, tx, p.tenant, c)
	if err != nil || !added {
		return err
	}
	if _, err := eventdb.ProcessIntake(ctx, tx, 1); err != nil {
		return err
	}
	for {
		if waiting, err := orderdb.Waiting(ctx, tx.Reads); err != nil || !waiting {
			return err
		}
		if err := e.Orders.ApplyWithin(ctx, tx, p.Log); err != nil {
			return err
		}
	}
}

// spend redeems credit of a sharer, as much as there is.
func (p *play) spend(id core.UserID, most int64) func(context.Context, *app.Engine) error {
	return func(ctx context.Context, e *app.Engine) error {
		balances, err := e.Rewards.Balances(ctx, p.tenant, core.AccountID(id), id, reward.Credit)
		if err != nil {
			return err
		}
		for _, b := range balances {
			if amount := min(most, b.Available()); amount > 0 && b.Unit == reward.UnitCents {
				_, err := e.Redemptions.Draw(ctx, p.tenant, reward.Draw{Account: core.AccountID(id), User: id, Unit: b.Unit, Amount: amount})
				return err
			}
		}
		return nil
	}
}
