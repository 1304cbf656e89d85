package bucket

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"kith/backend/file"
	"kith/core"
)

// The hosts of URLs without an endpoint.
const (
	amazon = "s3.amazonaws.com"
	google = "storage.googleapis.com"
)

// roleTime bounds each request for the credentials of the machine's role, which on
// machines of other clouds may get no answer.
const roleTime = 5 * time.Second

// Open opens the file store at a URL. It fails if the bucket does not exist or its
// server refuses the credentials:
//
//	file:///PATH
//	s3://BUCKET[/FOLDER]?region=R&endpoint=URL&use_path_style=true&disable_https=true&profile=P&prefix=TEXT
//	gs://BUCKET[/FOLDER]?endpoint=URL&prefix=TEXT
//
// All parameters may be left out; the region is then AWS_REGION. The credentials
// of s3 are those of the profile in the shared credentials file; without a profile
// they are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the default profile of that
// file, or those of the machine's role. The credentials of gs are an HMAC key,
// GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY.
func Open(ctx context.Context, text string) (file.Store, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, invalid("%q is not a URL; give a folder, s3://BUCKET, gs://BUCKET or file:///PATH", text)
	}
	switch u.Scheme {
	case "file":
		return openDir(u)
	case "s3", "gs":
		return openBucket(ctx, u)
	case "azblob":
		return nil, invalid("azblob:// is not supported; mount the container (blobfuse2) and give the folder, or give the s3:// URL of a gateway in front of it")
	}
	return nil, invalid("%s:// is not supported; give a folder, s3://BUCKET, gs://BUCKET or file:///PATH", u.Scheme)
}

func invalid(format string, args ...any) error {
	return core.Invalid("files", fmt.Sprintf(format, args...))
}

func openDir(u *url.URL) (file.Store, error) {
	if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) {
		return nil, invalid("the path of %s is not absolute; give file:///PATH", u)
	}
	if err := known(u); err != nil {
		return nil, err
	}
	return file.Dir(u.Path), nil
}

// known refuses the parameters of a URL that are not in names.
func known(u *url.URL, names ...string) error {
	for name := range u.Query() {
		if !slices.Contains(names, name) {
			have := "has no parameters"
			if len(names) > 0 {
				have = "has " + strings.Join(names, ", ")
			}
			return invalid("unknown parameter %s: %s:// %s; leave it out", name, u.Scheme, have)
		}
	}
	return nil
}

// place is the parsed URL of a bucket.
type place struct {
	endpoint       string // host[:port]
	plain          bool   // http
	region         string
	bucket, prefix string
	lookup         lookup
	profile        string
}

// parse parses the URL of a bucket.
func parse(u *url.URL) (p place, err error) {
	names := []string{"endpoint", "prefix"}
	p.endpoint, p.region = google, "auto"
	if u.Scheme == "s3" {
		names = append(names, "region", "use_path_style", "s3ForcePathStyle", "disable_https", "profile")
		p.endpoint, p.region = amazon, ""
	}
	if err := known(u, names...); err != nil {
		return p, err
	}
	query := u.Query()
	p.bucket, p.prefix, p.profile = u.Host, query.Get("prefix"), query.Get("profile")
	if p.bucket == "" {
		return p, invalid("%s has no bucket; give %s://BUCKET", u, u.Scheme)
	}
	if folder := strings.Trim(u.Path, "/"); folder != "" {
		p.prefix = folder + "/" + p.prefix
	}
	if p.plain, err = flag(query, "disable_https"); err != nil {
		return p, err
	}
	if p.lookup, err = parseLookup(query); err != nil {
		return p, err
	}
	if err := p.setEndpoint(query.Get("endpoint")); err != nil {
		return p, err
	}
	return p, p.setRegion(query.Get("region"))
}

// flag parses a boolean parameter; it is false if it is not given.
func flag(query url.Values, name string) (bool, error) {
	text := query.Get(name)
	if text == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, invalid("%s=%s is neither true nor false", name, text)
	}
	return b, nil
}

// lookup says whether the name of the bucket is in the path of requests or in their host.
type lookup int

const (
	// byServer: in the host for the clouds that the client knows, and in the path for all
	// others.
	byServer lookup = iota
	inHost
	inPath
)

// parseLookup returns the lookup that a parameter asks for.
func parseLookup(query url.Values) (lookup, error) {
	for _, name := range []string{"use_path_style", "s3ForcePathStyle"} {
		if !query.Has(name) {
			continue
		}
		if path, err := flag(query, name); path || err != nil {
			return inPath, err
		}
		return inHost, nil
	}
	return byServer, nil
}

// setEndpoint parses [http[s]://]HOST[:PORT].
func (p *place) setEndpoint(text string) error {
	if text == "" {
		return nil
	}
	scheme, host, ok := strings.Cut(text, "://")
	if !ok {
		scheme, host = "https", text
	}
	host = strings.TrimSuffix(host, "/")
	if scheme != "http" && scheme != "https" || host == "" || strings.ContainsAny(host, "/?#@") {
		return invalid("endpoint=%s is not the address of a server; give https://HOST:PORT", text)
	}
	p.endpoint, p.plain = host, p.plain || scheme == "http"
	return nil
}

// setRegion sets the region, which is part of the signatures of Amazon S3. Other
// servers rarely have regions, and use the name of Amazon's first.
func (p *place) setRegion(text string) error {
	for _, region := range []string{p.region, text, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")} {
		if region != "" {
			p.region = region
			return nil
		}
	}
	if p.endpoint == amazon {
		return invalid("region is missing; give s3://%s?region=eu-central-1, or set AWS_REGION", p.bucket)
	}
	p.region = "us-east-1"
	return nil
}

func openBucket(ctx context.Context, u *url.URL) (file.Store, error) {
	p, err := parse(u)
	if err != nil {
		return nil, err
	}
	keys, err := p.credentials(u.Scheme)
	if err != nil {
		return nil, err
	}
	if err := s3utils.CheckValidBucketName(p.bucket); err != nil {
		return nil, invalid("%s: %v", u, err)
	}
	s := Store{s3: newClient(p, keys), prefix: p.prefix}
	if err := s.check(ctx); err != nil {
		return nil, fmt.Errorf("bucket: open %s://%s at %s: %w", u.Scheme, p.bucket, p.endpoint, err)
	}
	return s, nil
}

// credentials returns the credentials with which requests are signed.
func (p place) credentials(scheme string) (*credentials.Credentials, error) {
	if scheme == "gs" {
		id, secret := os.Getenv("GS_ACCESS_KEY_ID"), os.Getenv("GS_SECRET_ACCESS_KEY")
		if id == "" || secret == "" {
			return nil, invalid("gs:// needs an HMAC key; make one with gcloud storage hmac create SERVICE_ACCOUNT, and set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY")
		}
		return credentials.NewStaticV4(id, secret, ""), nil
	}
	if p.profile != "" {
		keys := credentials.NewFileAWSCredentials("", p.profile)
		if _, err := keys.GetWithContext(nil); err != nil {
			return nil, invalid("profile=%s cannot be read from the shared credentials file; write it there, or leave the parameter out: %v", p.profile, err)
		}
		return keys, nil
	}
	static := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	if keys, err := static.GetWithContext(nil); err == nil && keys.AccessKeyID != "" {
		return static, nil
	}
	role := credentials.New(&credentials.IAM{Region: p.region, Client: &http.Client{Timeout: roleTime}})
	if _, err := role.GetWithContext(nil); err != nil {
		return nil, invalid("s3:// needs credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write them to ~/.aws/credentials, or give the machine a role (%v)", err)
	}
	return role, nil
}

// check requests an object that does not exist. Unlike a request about the bucket
// itself, this needs only the right to read objects, and the error of the answer says
// what is wrong.
func (s Store) check(ctx context.Context) error {
	body, err := s.s3.get(ctx, s.prefix+"kith-start", 0)
	switch code := code(err); code {
	case "":
		if err == nil {
			return body.Close()
		}
		return err
	case "NoSuchKey", "AccessDenied":
		// For a missing object, Amazon denies access to clients that may not list the
		// bucket.
		return nil
	case "NoSuchBucket":
		return fmt.Errorf("no such bucket; create it, or correct the name or the region")
	case "SignatureDoesNotMatch", "InvalidAccessKeyId":
		return fmt.Errorf("the server refuses the credentials; check the access key's id and its secret: %s", err)
	}
	return err
}
