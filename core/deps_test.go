//go:build !tinygo

package core_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// importRule lists what one package may import. A path that ends in /... matches the
// path and all paths below it.
type importRule struct {
	pkg string
	why string

	// std lists the packages of the standard library that it may import directly; nil
	// allows all.
	std []string
	// not lists packages of any origin that it may not import directly.
	not []string
	// kith and modules list everything it may link, through any number of imports:
	// packages of this project, and packages of other modules.
	kith, modules []string
	// tests lists what only its tests may import.
	tests []string
	// open is true for a package that wires the others: it may import anything.
	open bool
}

var (
	pure = []string{
		"bytes", "cmp", "errors", "slices", "strconv", "strings", "time", "unicode/utf8", "net/netip", "net/url",
		"crypto/aes", "crypto/cipher", "crypto/hmac", "crypto/md5", "crypto/sha256", "crypto/subtle", "hash",
		"encoding/base64", "encoding/csv", "encoding/hex",
	}
	// notInGuest lists packages that link fmt, reflect or goroutines into the
	// component.
	notInGuest = []string{"net/http", "net", "fmt", "log", "encoding/json", "reflect", "sync", "context", "database/sql"}

	rules   = []string{"kith/core", "kith/core/analytics", "kith/core/auth", "kith/core/billing", "kith/core/conversion", "kith/core/link", "kith/core/origin", "kith/core/people", "kith/core/referral", "kith/core/event", "kith/core/reward", "kith/core/pipeline", "kith/core/text", "kith/core/webhook", "kith/core/widget", "kith/core/job", "kith/core/exportfile", "kith/core/importfile"}
	parsers = []string{"github.com/tidwall/gjson", "github.com/tidwall/match", "github.com/tidwall/pretty", "github.com/valyala/fastjson/..."}

	// openTelemetry is the SDK that makes spans, and its dependencies.
	openTelemetry = []string{
		"go.opentelemetry.io/otel/...", "go.opentelemetry.io/auto/sdk/...", "github.com/go-logr/...",
		"github.com/cespare/xxhash/v2", "github.com/google/uuid", "golang.org/x/sys/...",
	}

	// sqlite is SQLite without C, and its dependencies.
	sqlite = []string{
		"modernc.org/...", "golang.org/x/sys/...", "github.com/dustin/go-humanize", "github.com/google/uuid",
		"github.com/mattn/go-isatty", "github.com/ncruces/go-strftime", "github.com/remyoudompheng/bigfft",
	}
	// libsql is the driver for servers and files, and its dependencies. watchdog watches
	// servers, and imports nothing.
	libsql = slices.Concat(sqlite, []string{
		"kith/wasm/watchdog",
		"github.com/tursodatabase/libsql-client-go/...",
		"github.com/antlr4-go/antlr/v4", "github.com/coder/websocket/...", "golang.org/x/exp/...",
	})
	// sheets is excelize, which writes XLSX, and its dependencies.
	sheets = []string{"github.com/xuri/...", "github.com/richardlehane/...", "github.com/tiendc/go-deepcopy",
		"golang.org/x/crypto/...", "golang.org/x/net/...", "golang.org/x/text/..."}
	storeModules = slices.Concat(libsql, parsers)
	// Every layer above the store links the store, core/wire through it, and the
	// files of jobs.
	backendModules = slices.Concat(storeModules, sheets)
	files          = []string{"kith/backend/file", "kith/backend/sheet", "kith/backend/xlsx", "kith/backend/libsql"}

	// stores are the packages with the SQL of the backend, by subject.
	stores = []string{"kith/backend/store", "kith/backend/store/answerdb", "kith/backend/store/billingdb", "kith/backend/store/eventdb", "kith/backend/store/jobdb", "kith/backend/store/leasedb", "kith/backend/store/orderdb", "kith/backend/store/peopledb", "kith/backend/store/programdb", "kith/backend/store/referraldb",
		"kith/backend/store/rewarddb", "kith/backend/store/secretdb", "kith/backend/store/tabledb", "kith/backend/store/tenantdb", "kith/backend/store/unit", "kith/backend/store/userdb", "kith/backend/store/webhookdb"}

	// s3Keys are the parts of minio-go that find credentials and sign, and their
	// dependencies; s3Client is all of it, which tests use.
	s3Keys = []string{"github.com/minio/minio-go/v7/pkg/credentials", "github.com/minio/minio-go/v7/pkg/s3utils", "github.com/minio/minio-go/v7/pkg/signer",
		"github.com/minio/md5-simd", "github.com/klauspost/cpuid/v2", "gopkg.in/ini.v1", "golang.org/x/net/...", "golang.org/x/text/..."}
	s3Client = []string{"github.com/minio/...", "github.com/cespare/xxhash/v2", "github.com/dustin/go-humanize", "gopkg.in/ini.v1",
		"github.com/google/uuid", "github.com/klauspost/compress/...", "github.com/klauspost/cpuid/v2", "github.com/klauspost/crc32",
		"github.com/philhofer/fwd", "github.com/rs/xid", "github.com/tinylib/msgp/...", "github.com/zeebo/xxh3", "go.yaml.in/yaml/...",
		"golang.org/x/crypto/...", "golang.org/x/net/...", "golang.org/x/sys/...", "golang.org/x/text/..."}

	assertions = []string{"github.com/stretchr/testify/...", "github.com/davecgh/go-spew/spew", "github.com/pmezard/go-difflib/difflib", "go.yaml.in/yaml/v3"}
	driver     = []string{"github.com/tursodatabase/libsql-client-go/...", "modernc.org/..."}
	sqlTest    = slices.Concat(stores, []string{"kith/backend/store/sqldtest", "kith/backend/store/storetest", "kith/backend/store/sqltest", "kith/backend/store/rowtest"})
	// stripeClient is Stripe's own client: it calls the lab in tests, as shops do. The
	// program links none of it.
	stripeClient = []string{"github.com/stripe/stripe-go/..."}
	openID       = []string{"github.com/coreos/go-oidc/v3/oidc", "github.com/go-jose/go-jose/v4/...", "golang.org/x/oauth2/..."}
	qrCode       = []string{"rsc.io/qr/..."}
	pageTest     = slices.Concat(backendTest, stores, []string{"kith/backend/api", "kith/backend/portal/..."})
	backendTest  = []string{"kith/backend/store/sqldtest", "kith/backend/store/storetest", "kith/backend/store/rowtest", "kith/wasm/transcript", "kith/backend/client", "kith/backend/testenv"}
)

var importRules = []importRule{
	{pkg: "kith", std: []string{"embed"}, kith: []string{"kith"},
		why: "it embeds files"},
	{pkg: "kith/docs", kith: []string{"kith/docs"}, why: "it holds documents and their tests"},
	{pkg: "kith/core", std: pure, kith: []string{"kith/core"},
		why: "all other packages import it"},
	{pkg: "kith/core/analytics", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/auth", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/billing", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/conversion", std: append([]string{"math/bits"}, pure...), kith: rules, why: purity},
	{pkg: "kith/core/link", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/origin", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/people", std: append([]string{"crypto/sha1", "crypto/sha256", "embed", "encoding/base32", "encoding/binary", "encoding/hex"}, pure...), kith: rules, why: purity},
	{pkg: "kith/core/referral", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/event", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/reward", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/text", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/pipeline", std: append([]string{"crypto/sha1"}, pure...), kith: rules, why: "rules are pure functions; Segment signs with SHA-1"},
	{pkg: "kith/core/webhook", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/widget", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/job", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/exportfile", std: pure, kith: rules, why: purity},
	{pkg: "kith/core/importfile", std: append([]string{"io"}, pure...), kith: rules, why: "files are streams, and are not part of the guest"},
	{pkg: "kith/core/wire", std: pure, kith: []string{"kith/core/..."}, modules: parsers,
		why: "JSON is parsed and written only here, by the two parsers that are small enough for the guest"},
	{pkg: "kith/core/state", std: pure, kith: []string{"kith/core/..."}, modules: parsers,
		why: "it defines the data that calls read and change; loading and storing it is the store's task"},
	{pkg: "kith/core/timeline", std: pure, kith: []string{"kith/core/..."}, modules: parsers, why: purity},
	{pkg: "kith/core/rules", std: pure, kith: []string{"kith/core/..."}, modules: parsers, why: purity},

	{pkg: "kith/edge", not: notInGuest, kith: []string{"kith/core/...", "kith/edge/..."},
		modules: slices.Concat(parsers, []string{"github.com/fermyon/spin/sdk/go/v2/variables"}),
		why:     "the guest stays small, and the SDK's other packages link net/http"},
	{pkg: "kith/edge/script", std: []string{"embed"}, kith: []string{"kith/edge/script"},
		why: "it embeds a file"},
	{pkg: "kith/edge/serve", not: notInGuest, kith: []string{"kith/core/...", "kith/edge/..."}, modules: parsers,
		// Its database is one that the backend wrote.
		tests: slices.Concat(libsql, stores, []string{"kith/backend/app/...", "kith/backend/store/storetest", "kith/wasm/native"}),
		why:   "the guest stays small, and handlers do not know the SDK"},
	{pkg: "kith/edge/route", std: pure, kith: append([]string{"kith/edge/route"}, rules...),
		why: "it parses paths; the handlers decide what to do with them"},
	{pkg: "kith/edge/abi", std: []string{"unsafe", "runtime"}, kith: []string{"kith/edge/abi"},
		why: "it is the contract with the host, which imports it, and the only unsafe code"},

	{pkg: "kith/backend/libsql", kith: []string{"kith/backend/libsql"}, modules: libsql,
		tests: []string{"kith/backend/store/sqldtest", "kith/backend/testenv/manualclock"},
		why:   "it connects to databases and knows no statement of the service"},
	{pkg: "kith/backend/store", not: slices.Concat([]string{"net/http"}, driver), kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: slices.Concat(backendTest, stores, []string{"kith/backend/store/sqltest"}),
		why:   "it runs transactions; the packages below it have the SQL"},
	{pkg: "kith/backend/store/billingdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql", "kith/backend/store/leasedb"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of the payment gateway"},
	{pkg: "kith/backend/store/eventdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/store/orderdb", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of events"},
	{pkg: "kith/backend/store/orderdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of orders"},
	{pkg: "kith/backend/store/jobdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql", "kith/backend/store/leasedb", "kith/backend/store/rewarddb"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of jobs and files"},
	{pkg: "kith/backend/store/leasedb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of leases"},
	{pkg: "kith/backend/store/peopledb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of the portal's people"},
	{pkg: "kith/backend/store/programdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of programs"},
	{pkg: "kith/backend/store/referraldb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql", "kith/backend/store/rewarddb", "kith/backend/store/userdb"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of referrals"},
	{pkg: "kith/backend/store/rewarddb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of rewards"},
	{pkg: "kith/backend/store/secretdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of what the master key seals"},
	{pkg: "kith/backend/store/tabledb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql", "kith/backend/store/userdb"}, modules: storeModules,
		tests: sqlTest, why: "it reads and writes whole tables without interpreting them"},
	{pkg: "kith/backend/store/tenantdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of tenants"},
	{pkg: "kith/backend/store/answerdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		why: "it has the SQL of kept answers"},
	{pkg: "kith/backend/store/userdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of accounts, users and codes"},
	{pkg: "kith/backend/store/webhookdb", not: driver, kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql", "kith/backend/store/leasedb"}, modules: storeModules,
		tests: sqlTest, why: "it has the SQL of webhooks"},
	{pkg: "kith/backend/store/unit", not: driver, kith: append([]string{"kith/core/...", "kith/backend/libsql"}, stores...), modules: storeModules,
		tests: sqlTest, why: "it loads and saves the state that core decides on"},
	{pkg: "kith/backend/store/rowtest", kith: append([]string{"kith/core/...", "kith/backend/libsql"}, stores...), modules: storeModules,
		why: "tests of every layer use it"},
	{pkg: "kith/backend/store/sqltest", kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql", "kith/backend/store/storetest"}, modules: slices.Concat(storeModules, assertions),
		why: "tests of every package with SQL use it"},
	{pkg: "kith/backend/testenv", not: []string{"net/http"}, kith: []string{"kith/backend/testenv"},
		why: "it finds files of the checkout for tests of every layer"},
	{pkg: "kith/backend/testenv/manualclock", kith: []string{"kith/backend/testenv/manualclock"}, modules: assertions,
		why: "it is the clock for tests of every layer"},
	{pkg: "kith/backend/store/sqldtest", kith: []string{"kith/backend/store/sqldtest", "kith/backend/testenv"}, tests: driver,
		why: "tests of every layer use it"},
	{pkg: "kith/backend/store/storetest", kith: []string{"kith/core/...", "kith/backend/store", "kith/backend/libsql", "kith/backend/store/storetest"},
		modules: storeModules, why: "tests of every layer use it"},
	{pkg: "kith/backend/file", not: []string{"net/http"}, kith: []string{"kith/core", "kith/backend/file"},
		tests: []string{"kith/backend/file/filetest"}, why: "it stores bytes; the store records who owns them"},
	{pkg: "kith/backend/file/filetest", kith: []string{"kith/core", "kith/backend/file", "kith/backend/file/filetest"},
		modules: assertions,
		why:     "tests of every kind of file store use it"},
	{pkg: "kith/backend/file/bucket", kith: []string{"kith/core", "kith/backend/file", "kith/backend/file/bucket"},
		modules: s3Keys, tests: []string{"kith/backend/file/filetest", "kith/backend/file/bucket/s3test"},
		why: "it speaks the protocol of S3, and knows nothing of what the files are"},
	{pkg: "kith/backend/file/bucket/s3test", kith: []string{"kith/backend/file/bucket/s3test", "kith/backend/testenv"}, modules: s3Client,
		why: "tests of every layer use it"},
	{pkg: "kith/backend/sheet", kith: rules, tests: sheets,
		why: "it reads files of any sender; storing them is the task of app"},
	{pkg: "kith/backend/xlsx", kith: rules, modules: sheets,
		why: "it writes rows of text and knows no rule"},
	{pkg: "kith/backend/app", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess"}), modules: backendModules, tests: backendTest,
		why: "effects on other systems are rows that the worker processes, and SQL belongs to the store"},
	{pkg: "kith/backend/app/base", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base"}), modules: storeModules,
		why: "all use cases share it, so it knows none of them"},
	{pkg: "kith/backend/app/ready", not: slices.Concat([]string{"net/http", "database/sql"}, driver), kith: []string{"kith/backend/app/ready"},
		why: "it runs the checks of others and has none"},
	{pkg: "kith/backend/app/health", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/ready", "kith/backend/app/health"}), modules: storeModules,
		why: "probes call it while everything else fails, so it depends on no use case"},
	{pkg: "kith/backend/app/rewards", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/rewards"}), modules: storeModules,
		why: "the use cases that give or redeem rewards call it, so it imports none of them"},
	{pkg: "kith/backend/app/members", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/guess", "kith/backend/app/members"}), modules: slices.Concat(storeModules, []string{"golang.org/x/crypto/...", "golang.org/x/text/..."}),
		tests: backendTest,
		why:   "it checks the credentials of members; the use cases that members call are in other packages"},
	{pkg: "kith/backend/app/jobs", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/base", "kith/backend/app/rewards", "kith/backend/app/users", "kith/backend/app/jobs"}), modules: backendModules,
		why: "it reads and writes files of many rows; core decides what a row does, or the use case that processes many rows together"},
	{pkg: "kith/backend/app/leases", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/leases"}), modules: storeModules,
		why: "it reads and writes files of many rows; core decides what a row does, or the use case that processes many rows together"},
	{pkg: "kith/backend/app/programs", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/rewards", "kith/backend/app/programs"}), modules: storeModules,
		why: "a change of a program's offer only gives the rewards that were pending under the old offer"},
	{pkg: "kith/backend/app/payments", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/rewards", "kith/backend/app/payments"}), modules: storeModules,
		why: "it decides which gateway calls are due, and redeems the credit that bills use; worker makes the calls"},
	{pkg: "kith/backend/app/users", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/users"}), modules: storeModules,
		why: "core decides what an identification causes, so it needs no other use case"},
	{pkg: "kith/backend/app/tenants", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/rewards", "kith/backend/app/programs", "kith/backend/app/tenants"}), modules: storeModules,
		why: "it creates a tenant with its first program, and needs no use case about users"},
	{pkg: "kith/backend/app/callers", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/rewards", "kith/backend/app/programs", "kith/backend/app/tenants", "kith/backend/app/callers"}), modules: storeModules,
		why: "it records when a tenant's keys were used, and authorizes no call"},
	{pkg: "kith/backend/app/referrals", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/referrals"}), modules: storeModules,
		why: "core decides who refers whom, so it needs no other use case"},
	{pkg: "kith/backend/app/widgets", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/users", "kith/backend/app/rewards", "kith/backend/app/widgets"}), modules: storeModules,
		why: "a widget shows its user and their rewards"},
	{pkg: "kith/backend/app/events", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/events"}), modules: storeModules,
		why: "it stores calls; worker processes them"},
	{pkg: "kith/backend/app/orders", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/orders"}), modules: storeModules,
		why: "it stores calls; worker processes them"},
	{pkg: "kith/backend/app/admin", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/...", "kith/backend/guess"}), modules: backendModules,
		tests: slices.Concat(backendTest, stores, []string{"kith/backend/portal/portaltest"}),
		why:   "it calls the use cases of the API for members"},
	{pkg: "kith/backend/app/pipelines", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/pipelines"}), modules: storeModules,
		why: "core decides what a message does, so it needs no other use case"},
	{pkg: "kith/backend/app/statistics", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/guess", "kith/backend/app/visits", "kith/backend/app/statistics"}), modules: storeModules,
		why: "it counts reported events, and knows no rule"},
	{pkg: "kith/backend/app/visits", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: append([]string{"kith/backend/app/visits"}, rules...),
		why:  "edges count with it, too; its caller stores the counts"},
	{pkg: "kith/backend/app/webhooks", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/webhooks"}), modules: storeModules,
		why: "it decides what to send; sender sends it"},
	{pkg: "kith/backend/identity", kith: []string{"kith/core", "kith/backend/identity"}, modules: openID,
		why: "it calls identity providers, and knows no person"},
	{pkg: "kith/backend/doctor", kith: slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/upstream", "kith/backend/doctor"}), modules: storeModules,
		why: "it examines what use cases depend on, and none of them"},
	{pkg: "kith/backend/upstream", kith: []string{"kith/core", "kith/core/auth", "kith/backend/upstream"},
		why: "an edge asks its backend by HTTP, without the code of the backend"},
	{pkg: "kith/backend/sparse", kith: []string{"kith/backend/sparse"}, why: "it bounds the lines of a log"},
	{pkg: "kith/backend/guess", kith: []string{"kith/backend/guess"},
		why: "it counts by address, and knows no rule"},
	{pkg: "kith/backend/progress", kith: []string{"kith/backend/progress"},
		why: "it writes to a terminal, and knows no operation"},
	{pkg: "kith/backend/api", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith:    slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/graphql", "kith/backend/gateway/...", "kith/backend/guess", "kith/backend/sparse", "kith/wasm/bodies", "kith/backend/api/docs", "kith/backend/api"}),
		modules: slices.Concat(backendModules, []string{"github.com/vektah/gqlparser/v2/...", "github.com/agnivade/levenshtein", "github.com/yuin/goldmark/..."}),
		tests:   slices.Concat(backendTest, stores, []string{"github.com/santhosh-tekuri/jsonschema/v6", "kith/backend/api/docs", "kith/backend/api/openapi"}),
		why:     "it translates HTTP into calls of app, and limits the rate of anonymous callers"},
	{pkg: "kith/backend/api/openapi/assemble", kith: []string{"kith/backend/api/openapi"}, modules: []string{"github.com/goccy/go-yaml/..."},
		why: "it writes what package openapi assembles"},
	{pkg: "kith/backend/api/openapi", kith: []string{"kith/backend/api/openapi"}, modules: []string{"github.com/goccy/go-yaml/..."},
		why: "the build runs it, and the binary does not have it"},
	{pkg: "kith/backend/portal", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/..."}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it lists the sections of the portal"},
	{pkg: "kith/backend/portal/frame", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it translates forms into calls of app, and what app returns into pages"},
	{pkg: "kith/backend/portal/account", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/team", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/files", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/users", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/programs", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/overview", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/referrals", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/integrations", not: slices.Concat([]string{"kith/backend/store", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/frame"}), modules: slices.Concat(backendModules, qrCode, openID), tests: pageTest,
		why: "it has pages of the portal"},
	{pkg: "kith/backend/portal/portaltest", kith: slices.Concat(stores, files, libsql, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sparse", "kith/backend/identity", "kith/backend/portal/...", "kith/backend/store/sqldtest", "kith/backend/store/storetest", "kith/backend/testenv"}),
		modules: slices.Concat(storeModules, backendModules, qrCode, openID, assertions),
		why:     "it is a portal on a real database, for tests"},
	{pkg: "kith/backend/api/docs", not: slices.Concat([]string{"database/sql"}, driver),
		kith:    []string{"kith/backend/api/docs"},
		modules: []string{"github.com/tidwall/gjson", "github.com/tidwall/match", "github.com/tidwall/pretty", "github.com/vektah/gqlparser/v2/...", "github.com/agnivade/levenshtein", "github.com/yuin/goldmark/..."},
		tests:   backendTest,
		why:     "it renders documents as pages, whatever they describe"},
	{pkg: "kith/backend/sender", not: slices.Concat([]string{"database/sql", "kith/backend/store"}, driver),
		kith:    slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/app/base", "kith/backend/app/webhooks", "kith/backend/sender"}),
		modules: storeModules, tests: backendTest,
		why: "it makes one attempt; the caller decides when, and what to do next"},
	{pkg: "kith/backend/graphql", not: slices.Concat([]string{"kith/backend/store", "database/sql", "net/http"}, driver),
		kith:    slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/graphql"}),
		modules: slices.Concat(backendModules, []string{"github.com/vektah/gqlparser/v2/...", "github.com/agnivade/levenshtein"}),
		tests:   slices.Concat(backendTest, stores),
		why:     "it translates GraphQL into calls of app; HTTP belongs to api"},
	{pkg: "kith/backend/worker", not: []string{"net/http"},
		kith:    slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sender", "kith/backend/gateway/...", "kith/backend/worker"}),
		modules: backendModules, tests: backendTest,
		why: "it processes stored work; it is not called over HTTP"},
	{pkg: "kith/backend/backup", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith:    slices.Concat(stores, []string{"kith/core/...", "kith/backend/libsql", "kith/backend/file", "kith/backend/atomicfile", "kith/backend/app/base", "kith/backend/backup"}),
		modules: slices.Concat(storeModules, []string{"filippo.io/age/...", "golang.org/x/crypto/...", "golang.org/x/sys/..."}),
		tests:   slices.Concat(backendTest, stores, []string{"kith/backend/app/..."}),
		why:     "it copies data without interpreting it"},
	{pkg: "kith/backend/sftp", not: slices.Concat([]string{"database/sql", "net/http"}, driver),
		kith:    slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/sftp"}),
		modules: slices.Concat(backendModules, []string{"github.com/pkg/sftp/...", "github.com/kr/fs"}),
		tests:   backendTest,
		why:     "it speaks SSH and SFTP; app processes the files"},
	{pkg: "kith/backend/app/sshkey", not: slices.Concat([]string{"net/http", "database/sql"}, driver),
		kith: slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/sshkey"}), modules: backendModules,
		why: "the server, the command line and the portal read the same keys"},
	{pkg: "kith/backend/demo", not: driver,
		kith:    slices.Concat(stores, files, []string{"kith/core/...", "kith/backend/app/...", "kith/backend/guess", "kith/backend/demo", "kith/backend/demo/shop", "kith/backend/gateway/xmltree", "kith/clients/go"}),
		modules: backendModules, tests: backendTest,
		why: "it creates the demo tenants through app, as any caller does"},
	{pkg: "kith/backend/demo/shop", kith: []string{"kith/backend/demo/shop", "kith/backend/gateway/xmltree", "kith/clients/go"},
		why: "it is a shop as any other, which knows of Kith what the public client has"},
	{pkg: "kith/backend/gateway", not: []string{"net/http", "database/sql"}, kith: []string{"kith/core/...", "kith/backend/gateway"}, modules: parsers,
		why: "it says what the service needs from any payment gateway, and knows none"},
	{pkg: "kith/backend/gateway/braintree", not: slices.Concat([]string{"database/sql"}, driver), kith: []string{"kith/core/...", "kith/backend/gateway", "kith/backend/gateway/braintree", "kith/backend/gateway/xmltree"}, modules: parsers,
		why: "it speaks the payment gateway's protocol, and knows no rule about programs"},
	{pkg: "kith/backend/gateway/stripe", not: slices.Concat([]string{"database/sql"}, driver), kith: []string{"kith/core/...", "kith/backend/gateway", "kith/backend/gateway/stripe"},
		modules: parsers, tests: slices.Concat(stripeClient, []string{"kith/backend/stripelab"}),
		why: "it speaks the payment gateway's protocol, and knows no rule about programs"},
	{pkg: "kith/backend/gateway/xmltree", not: []string{"net/http"}, kith: []string{"kith/backend/gateway/xmltree"},
		why: "it reads and writes XML documents without interpreting them"},
	{pkg: "kith/backend/braintreelab", not: slices.Concat([]string{"database/sql"}, driver),
		kith: []string{"kith/core/...", "kith/backend/gateway", "kith/backend/gateway/braintree", "kith/backend/gateway/xmltree", "kith/backend/braintreelab"},
		// sqldtest has the deadline of all tests.
		tests: slices.Concat(parsers, []string{"kith/backend/braintreelab/scenario", "kith/backend/braintreelab/sdktest", "kith/backend/store/sqldtest"}),
		why:   "it simulates the gateway, and knows nothing of the service"},
	{pkg: "kith/backend/braintreelab/scenario",
		kith: []string{"kith/core/...", "kith/backend/gateway", "kith/backend/gateway/braintree", "kith/backend/gateway/xmltree", "kith/backend/braintreelab", "kith/backend/braintreelab/scenario"},
		why:  "it runs scenarios against a simulated gateway; callers add their own verbs"},
	{pkg: "kith/backend/braintreelab/sdktest", kith: []string{"kith/backend/braintreelab/sdktest", "kith/backend/testenv"}, modules: slices.Concat(parsers, assertions),
		why: "it runs the gateway's own library for tests"},
	{pkg: "kith/backend/stripelab", not: slices.Concat([]string{"database/sql"}, driver), kith: []string{"kith/backend/stripelab"},
		tests: slices.Concat(parsers, stripeClient, []string{"kith/backend/testenv"}),
		why:   "it simulates Stripe, and knows nothing of the service"},
	{pkg: "kith/backend/client", kith: []string{"kith/core", "kith/core/job", "kith/core/wire", "kith/backend/client"}, modules: parsers, tests: backendTest,
		why: "it knows the API and nothing of the server behind it"},
	{pkg: "kith/backend/metrics", not: slices.Concat([]string{"database/sql"}, driver), kith: []string{"kith/backend/metrics", "kith/core"},
		tests: []string{"github.com/prometheus/..."}, why: "it counts requests and knows no rule"},
	{pkg: "kith/backend/trace", kith: []string{"kith/backend/trace", "kith/core"},
		modules: openTelemetry, tests: []string{"kith/backend/trace/tracetest"},
		why: "it wraps handlers, transports and databases, so that these link no OpenTelemetry"},
	{pkg: "kith/backend/trace/tracetest", kith: []string{"kith/backend/trace/tracetest"}, modules: []string{"go.opentelemetry.io/proto/slim/otlp/...", "google.golang.org/protobuf/..."},
		why: "it is a collector for the tests of the tracer and of the built programs"},
	{pkg: "kith/backend/atomicfile", kith: []string{"kith/backend/atomicfile"}, modules: []string{"golang.org/x/sys/unix"}, why: "it is about files"},
	{pkg: "kith/backend/drain", kith: []string{"kith/backend/drain"}, modules: []string{"golang.org/x/sys/..."}, why: "it is about sockets"},
	{pkg: "kith/backend/manual", kith: []string{"kith/backend/manual"}, modules: []string{"github.com/alecthomas/kong"}, why: "it describes any command line"},
	{pkg: "kith/backend/cmd/kith", open: true, why: "it wires"},

	{pkg: "kith/clients/go", kith: []string{"kith/clients/go"}, why: "it is a module of its own, for shops"},
	{pkg: "kith/clients/pack", kith: []string{"kith/clients/pack"}, why: "it is a tool, which packs files"},
	{pkg: "kith/clients/generate", open: true, why: "it is a tool, which reads the document that the API serves"},

	{pkg: "kith/wasm/bodies", kith: []string{"kith/wasm/bodies"},
		why: "it reads bodies without interpreting them"},
	{pkg: "kith/wasm/watchdog", kith: []string{"kith/wasm/watchdog"}, tests: []string{"kith/backend/testenv/manualclock"},
		why: "it watches any server"},
	{pkg: "kith/wasm/fuel", kith: []string{"kith/wasm/fuel"}, tests: []string{"kith/wasm/wat", "github.com/tetratelabs/wazero/..."},
		why: "it rewrites modules of any purpose, and runs none"},
	{pkg: "kith/wasm/wat", kith: []string{"kith/wasm/wat"}, why: "it compiles modules of any purpose, for tests"},
	{pkg: "kith/wasm/host", kith: []string{"kith/edge/abi", "kith/wasm/bodies", "kith/wasm/fuel", "kith/wasm/watchdog", "kith/wasm/host"},
		modules: slices.Concat(sqlite, []string{"github.com/tetratelabs/wazero/...", "github.com/BurntSushi/toml/..."}),
		tests:   []string{"kith/wasm/wat", "kith/backend/libsql", "kith/backend/testenv/manualclock"},
		why:     "it hosts any component, so it imports no rules and no backend; its caller passes it the databases"},
	{pkg: "kith/wasm/native", kith: []string{"kith/edge/abi", "kith/wasm/native"},
		why: "it converts the values of any statement"},
	{pkg: "kith/wasm/cluster", kith: []string{"kith/wasm/cluster"}, tests: []string{"kith/backend/testenv", "kith/backend/store/sqldtest"}, why: "it starts built programs and knows nothing of them"},
	{pkg: "kith/wasm/bench", kith: []string{"kith/wasm/bench"}, why: "it parses the output of benchmarks"},
	{pkg: "kith/wasm/size", kith: []string{"kith/wasm/size"}, tests: []string{"kith/backend/testenv"}, why: "it reads any program"},
	{pkg: "kith/wasm/transcript", kith: []string{"kith/wasm/transcript"}, why: "it runs transcripts against any server"},
	{pkg: "kith/wasm/e2e/lan", kith: []string{"kith/wasm/e2e/lan"}, modules: []string{"golang.org/x/sys/unix"}, why: "it forwards the packets of any processes"},
	{pkg: "kith/wasm/e2e/attack", kith: []string{"kith/wasm/e2e/attack"}, why: "it lists requests and responses"},
	{pkg: "kith/wasm/e2e", kith: []string{"kith/wasm/bodies", "kith/wasm/e2e", "kith/wasm/host", "kith/edge/abi"}, modules: []string{"github.com/tetratelabs/wazero/..."},
		tests: []string{"kith/wasm/host", "kith/wasm/e2e/attack", "kith/wasm/e2e/lan", "kith/wasm/transcript", "github.com/tidwall/gjson", "kith/backend/testenv", "kith/backend/libsql", "kith/backend/store/sqldtest", "kith/backend/file/bucket/s3test", "kith/backend/client", "kith/core", "kith/core/job", "github.com/tetratelabs/wazero/...",
			// Keys of encrypted backups.
			"filippo.io/age",
			// The manifests of deploy/.
			"github.com/goccy/go-yaml", "github.com/BurntSushi/toml",
			// The server of a shop that bills with Stripe.
			"github.com/stripe/stripe-go/v86",
			// The baseline for the component: its handlers, compiled natively.
			"kith/edge/serve", "kith/wasm/native",
			// To send load from one thread with epoll.
			"golang.org/x/sys/unix",
			// To receive the spans of the programs.
			"kith/backend/trace/tracetest",
			// To walk the table of roles.
			"kith/core/auth",
			// To count the requests of programs to a database server.
			"github.com/coder/websocket",
			// To walk the fields of the schema.
			"github.com/vektah/gqlparser/v2/...",
			// To look at what the programs stored.
			"github.com/tursodatabase/libsql-client-go/..."},
		why: "it tests the built programs from outside"},
}

const purity = "rules are pure functions, compiled into guest and backend"

// pkg is the output of go list for a package.
type pkg struct {
	ImportPath, Dir           string
	Standard, DepOnly         bool
	Imports, Deps             []string
	TestImports, XTestImports []string
}

// list returns packages of this project and everything they link.
func list(t *testing.T, env []string, args ...string) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,DepOnly,Imports,Deps,TestImports,XTestImports"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	pkgs := map[string]pkg{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else {
			require.NoError(t, err)
		}
		pkgs[p.ImportPath] = p
	}
}

// Import rules, for the packages as Go builds them.
func TestImports_Backend(t *testing.T) {
	pkgs := list(t, nil, "kith/...")
	checked := 0
	for _, p := range pkgs {
		if strings.HasPrefix(p.ImportPath+"/", "kith/") && !p.DepOnly {
			checkImports(t, p, pkgs)
			checked++
		}
	}
	require.NotZero(t, checked)
}

// Import rules, for the packages of the component as TinyGo builds them: their
// host functions are in files that Go does not see.
func TestImports_Guest(t *testing.T) {
	// Cgo is needed to see files with C in them; go list compiles none.
	env := []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=1"}
	pkgs := list(t, env, "-e", "-tags=tinygo,tinygo.wasm", "kith/core/...", "kith/edge/...")
	checked := 0
	for _, p := range pkgs {
		if strings.HasPrefix(p.ImportPath+"/", "kith/") {
			checkImports(t, p, pkgs)
			checked++
		}
		// make guest compiles these tests with TinyGo, which has no net/http.
		if strings.HasPrefix(p.ImportPath+"/", "kith/core/") {
			for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
				if path == "net/http" || covers(assertions, path) {
					t.Errorf("tests of %s import %s, which needs net/http and does not compile as a guest: use testing alone, or the build tag !tinygo", p.ImportPath, path)
				}
			}
		}
	}
	require.NotZero(t, checked)
}

func checkImports(t *testing.T, p pkg, pkgs map[string]pkg) {
	i := slices.IndexFunc(importRules, func(r importRule) bool { return r.pkg == p.ImportPath })
	if i < 0 {
		t.Errorf("%s has no row in the table of this test: add what it may import, and why", p.ImportPath)
		return
	}
	rule := importRules[i]
	for _, path := range p.Deps {
		if covers(stripeClient, path) {
			t.Errorf("%s links %s through %s, and only tests may: it is 8 MB of the program", p.ImportPath, path, directImport(p, path, pkgs))
		}
	}
	if rule.open {
		return
	}
	for _, path := range p.Imports {
		if pkgs[path].Standard && rule.std != nil && !covers(rule.std, path) {
			t.Errorf("%s imports %s, which is not one of the packages of the standard library that it may import: %s", p.ImportPath, path, rule.why)
		}
		if covers(rule.not, path) {
			t.Errorf("%s imports %s, and may not: %s", p.ImportPath, path, rule.why)
		}
	}
	reported := map[string]bool{}
	for _, path := range p.Deps {
		if pkgs[path].Standard || path == "C" || covers(rule.kith, path) || covers(rule.modules, path) {
			continue
		}
		// One import often links many packages: report the first.
		if direct := directImport(p, path, pkgs); !reported[direct] {
			reported[direct] = true
			t.Errorf("%s links %s through %s, and may not: %s", p.ImportPath, path, direct, rule.why)
		}
	}
	// pkgs lists linked packages, not those that only tests import. A path with a dot
	// in its first element is not of the standard library.
	may := slices.Concat(rule.kith, rule.modules, rule.tests, []string{p.ImportPath, "github.com/stretchr/testify/..."})
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		first, _, _ := strings.Cut(path, "/")
		if (first == "kith" || strings.Contains(first, ".")) && !covers(may, path) {
			t.Errorf("tests of %s import %s, and may not: %s", p.ImportPath, path, rule.why)
		}
	}
}

// directImport returns the import of p through which it reaches path.
func directImport(p pkg, path string, pkgs map[string]pkg) string {
	for _, direct := range p.Imports {
		if direct == path || slices.Contains(pkgs[direct].Deps, path) {
			return direct
		}
	}
	return "?"
}

func covers(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, all := strings.CutSuffix(pattern, "/...")
		return path == below || all && strings.HasPrefix(path, below+"/")
	})
}

// A rule must be a function of its input: it must not read a clock, draw a random
// number or panic. The guest has no goroutines.
func TestSource_CoreAndEdgeStayPure(t *testing.T) {
	files := 0
	for _, dir := range []string{".", "../edge"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == dir {
				return nil // the component is not written yet
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if what := impure(n, dir == "."); what != "" {
					t.Errorf("%s: %s", fset.Position(n.Pos()), what)
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	require.NotZero(t, files)
}

// impure describes what makes a node impure; "" if it is pure.
func impure(n ast.Node, inCore bool) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "panic" && inCore {
			return "panic: return an error"
		}
	case *ast.SelectorExpr:
		x, _ := n.X.(*ast.Ident)
		switch {
		case x == nil || !inCore:
		case x.Name == "rand":
			return "rand: take random bytes as a parameter"
		case x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "Tick"}, n.Sel.Name):
			return "time." + n.Sel.Name + ": take the time as a parameter"
		}
	}
	return ""
}

// Every row of the table has a reason, and every package has one row.
func TestImports_TableIsWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range importRules {
		assert.NotEmpty(t, rule.why, rule.pkg)
		assert.False(t, seen[rule.pkg], "%s has two rows", rule.pkg)
		seen[rule.pkg] = true
	}
}
