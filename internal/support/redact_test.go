// SPDX-License-Identifier: Apache-2.0

package support_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
)

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

func TestRedact(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		in, want string
		tally    support.Tally
		dropped  bool
	}{
		"a Secret is dropped whole":    {in: `{"kind":"Secret","metadata":{"name":"s"},"data":{"a":"aHVudGVyMg=="}}`, tally: support.Tally{support.RuleKind: 1}, dropped: true},
		"a ConfigMap is dropped whole": {in: `{"kind":"ConfigMap","data":{"scylla.yaml":"x: y"}}`, tally: support.Tally{support.RuleKind: 1}, dropped: true},
		"of an unknown kind only the name is left": {
			in:    `{"apiVersion":"example.com/v1","kind":"Vault","metadata":{"name":"v","namespace":"n","annotations":{"a":"b"}},"spec":{"x":1}}`,
			want:  `{"apiVersion":"example.com/v1","kind":"Vault","metadata":{"name":"v","namespace":"n"}}`,
			tally: support.Tally{support.RuleKind: 1}},
		"no environment, in no template either": {
			in: `{"kind":"StatefulSet","spec":{"template":{"spec":{"initContainers":[{"name":"i","env":[{"name":"A","value":"x"}]}],
				"containers":[{"name":"c","envFrom":[{"secretRef":{"name":"auth"}}],"env":[{"name":"C","valueFrom":{"secretKeyRef":{"name":"auth","key":"password"}}}]}]}}}}`,
			want: `{"kind":"StatefulSet","spec":{"template":{"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"}]}}}}`},
		"of command lines what is read": {
			in: `{"kind":"Pod","spec":{"containers":[{"command":["/opt/scylla-agent","launch","--","cqlsh","-u","cassandra:pw1"],"args":["--password=pw2","--token","pw3","--seeds","10.0.0.1","--auth-token","--seeds",
				"--smp=2","scylla","AbCdEfGh1234567890XyZ","--cluster-name=a b","-c","run pw4 && exec /mnt/scylla-operator sidecar --external-seeds=https://u:pw5@h/ --x pw6 -- "]}]}}`,
			want: `{"kind":"Pod","spec":{"containers":[{"command":["/opt/scylla-agent","launch","[redacted]","[redacted]","[redacted]","[redacted]"],"args":["[redacted]","[redacted]","[redacted]","--seeds","10.0.0.1","[redacted]","--seeds",
				"--smp=2","scylla","[redacted]","--cluster-name=a b","[redacted]","[redacted] /mnt/scylla-operator sidecar --external-seeds=https://[redacted]@h/ [redacted]"]}]}}`,
			tally: support.Tally{support.RuleText: 1}},
		"annotations: our own stay, last-applied configurations and those of others go": {
			in: `{"kind":"Service","metadata":{"name":"s","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"password\":\"x\"}","team.example.com/note":"call me",
				"internal.scylla-operator.scylladb.com/host-id":"35d0f1a0-5ea1-4d00-8000-000000000000","scylla-operator.scylladb.com/managed-hash":"q8+cJiz+VHg2QAs5kspIWmMJlhYeUADPORC6IZ==",
				"volume.kubernetes.io/selected-node":"n"}}}`,
			want: `{"kind":"Service","metadata":{"name":"s","annotations":{
				"internal.scylla-operator.scylladb.com/host-id":"35d0f1a0-5ea1-4d00-8000-000000000000","scylla-operator.scylladb.com/managed-hash":"q8+cJiz+VHg2QAs5kspIWmMJlhYeUADPORC6IZ==",
				"volume.kubernetes.io/selected-node":"n"}}}`},
		"annotations: secrets within the texts of our own and the operator's": {
			in: `{"kind":"Service","metadata":{"annotations":{"kubectl-scylla.scylladb.com/barrier":"get https://bob:pw1@h failed","scylla-operator.scylladb.com/x":"dbpassword=pw2",
				"volume.kubernetes.io/selected-node":"token=pw3"}}}`,
			want: `{"kind":"Service","metadata":{"annotations":{"kubectl-scylla.scylladb.com/barrier":"get https://[redacted]@h failed","scylla-operator.scylladb.com/x":"dbpassword=[redacted]",
				"volume.kubernetes.io/selected-node":"token=[redacted]"}}}`,
			tally: support.Tally{support.RuleText: 3}},
		"a row stays the row that it is": {
			in:   `{"kind":"Pod","metadata":{"annotations":{"` + api.AnnotationNodeStatusReport + `":"{\"observedNodes\":[{\"hostID\":\"a\",\"status\":\"UP\"}],\"hostID\":\"b\"}"}}}`,
			want: `{"kind":"Pod","metadata":{"annotations":{"` + api.AnnotationNodeStatusReport + `":"{\"observedNodes\":[{\"hostID\":\"a\",\"status\":\"UP\"}],\"hostID\":\"b\"}"}}}`},
		"a row with a secret in its error stays JSON": {
			in:    `{"kind":"Pod","metadata":{"annotations":{"` + api.AnnotationNodeStatusReport + `":"{\"error\":\"get http://u:pw@h: password=\\\"x\\\"\"}"}}}`,
			want:  `{"kind":"Pod","metadata":{"annotations":{"` + api.AnnotationNodeStatusReport + `":"{\"error\":\"get http://[redacted]@h: password=\\\"[redacted]\\\"\"}"}}}`,
			tally: support.Tally{support.RuleText: 2}},
		"of managed fields only when rows were written": {
			in: `{"kind":"Pod","metadata":{"managedFields":[{"manager":"scylla-agent","operation":"Update","time":"2026-11-21T12:00:00Z","fieldsType":"FieldsV1","subresource":"x",
				"fieldsV1":{"f:metadata":{"f:annotations":{"f:` + api.AnnotationNodeStatusReport + `":{},"v:\"hunter2\"":{}}}}},{"manager":"kubectl","fieldsV1":{"f:spec":{}}}]}}`,
			want: `{"kind":"Pod","metadata":{"managedFields":[{"manager":"scylla-agent","operation":"Update","time":"2026-11-21T12:00:00Z","fieldsType":"FieldsV1",
				"fieldsV1":{"f:` + api.AnnotationNodeStatusReport + `":{}}}]}}`},
		"and who wrote the labels and annotations that count": {
			in: `{"kind":"Service","metadata":{"managedFields":[{"manager":"kubectl-label","operation":"Update","time":"2026-11-21T12:00:00Z","fieldsType":"FieldsV1",
				"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:` + api.LabelNodeMaintenance + `":{},"f:hunter2":{}},"f:annotations":{"f:hunter2":{}}}}}]}}`,
			want: `{"kind":"Service","metadata":{"managedFields":[{"manager":"kubectl-label","operation":"Update","time":"2026-11-21T12:00:00Z","fieldsType":"FieldsV1",
				"fieldsV1":{"f:metadata":{"f:labels":{"f:` + api.LabelNodeMaintenance + `":{}}}}}]}}`},
		"of volumes those that are claims": {
			in: `{"kind":"Pod","spec":{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"data-0"}},{"name":"b","secret":{"secretName":"tls"}},
				{"name":"c","csi":{"driver":"d","volumeAttributes":{"clientSecret":"x"}}}]}}`,
			want: `{"kind":"Pod","spec":{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"data-0"}},{"name":"b"},{"name":"c"}]}}`},
		"no probes, no hooks, and no field that nobody knows": {
			in: `{"kind":"Pod","spec":{"nodeName":"n","containers":[{"name":"c","livenessProbe":{"httpGet":{"httpHeaders":[{"name":"X-Key","value":"v"}]}},"lifecycle":{"preStop":{"exec":{"command":["x"]}}}}],"new":"x"},
				"data":{"x":"y"}}`,
			want: `{"kind":"Pod","spec":{"nodeName":"n","containers":[{"name":"c"}]}}`},
		"labels that look like secrets": {
			in:    `{"kind":"Service","metadata":{"labels":{"scylla/cluster":"demo","api-token":"abc"}},"spec":{"password":"x","selector":{"statefulset.kubernetes.io/pod-name":"demo-0"}}}`,
			want:  `{"kind":"Service","metadata":{"labels":{"scylla/cluster":"demo","api-token":"redacted"}},"spec":{"selector":{"statefulset.kubernetes.io/pod-name":"demo-0"}}}`,
			tally: support.Tally{support.RuleLabel: 1}},
		"texts of events": {
			in:    `{"kind":"Event","message":"pull https://bob:pw@registry/x failed","reason":"Failed"}`,
			want:  `{"kind":"Event","message":"pull https://[redacted]@registry/x failed","reason":"Failed"}`,
			tally: support.Tally{support.RuleText: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, tally, ok := support.Redact(object(t, c.in))
			if ok == c.dropped {
				t.Fatalf("kept: %v", ok)
			}
			if c.tally == nil {
				c.tally = support.Tally{}
			}
			if diff := cmp.Diff(c.tally, tally); diff != "" {
				t.Errorf("tally (-want +got):\n%s", diff)
			}
			if c.dropped {
				return
			}
			if diff := cmp.Diff(object(t, c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, more, _ := support.Redact(got)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("redacting again changes it (-once +twice):\n%s", diff)
			}
			if _, unknown := c.tally[support.RuleKind]; len(more) > 0 && !unknown {
				t.Errorf("redacting again counts %v", more)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                        {"rack2-0 sees rack3-0 DOWN for 12s", "rack2-0 sees rack3-0 DOWN for 12s"},
		"tokens of the ring":             {"num_tokens: 256, initial_token: -9223372036854775808, owns tokens=12", "num_tokens: 256, initial_token: -9223372036854775808, owns tokens=12"},
		"a host ID":                      {"replace 37d2f3a2-5ea1-4d00-8000-000000000002", "replace 37d2f3a2-5ea1-4d00-8000-000000000002"},
		"an image":                       {"docker.io/scylladb/scylla@sha256:0123456789abcdef", "docker.io/scylladb/scylla@sha256:0123456789abcdef"},
		"credentials in a URL":           {"dial postgres://bob:p%40ss@db:5432/x", "dial postgres://[redacted]@db:5432/x"},
		"a password with an @":           {"http://bob:a@b@host/c@d", "http://[redacted]@host/c@d"},
		"a token as user":                {"git clone https://tok@github.example/x", "git clone https://[redacted]@github.example/x"},
		"a parameter of a URL":           {"url=https://h/p?token=abc&x=1 then", "url=https://h/p?token=[redacted] then"},
		"name=value":                     {"PASSWORD=hunter2 USER=bob", "PASSWORD=[redacted] USER=bob"},
		"name: value":                    {"authPassword: hunter2", "authPassword: [redacted]"},
		"a name that ends in password":   {"DBPASSWORD=hunter2 x", "DBPASSWORD=[redacted] x"},
		"a name that ends in passwd":     {"rootpasswd: hunter2", "rootpasswd: [redacted]"},
		"a name that ends in secret":     {`{"clientsecret":"s3cr3t"}`, `{"clientsecret":"[redacted]"}`},
		"a name that ends in apikey":     {"--cloudapikey hunter2 -x", "--cloudapikey [redacted] -x"},
		"a name that ends in token":      {"accesstoken=abc next", "accesstoken=[redacted] next"},
		"quoted with spaces":             {`password="two words" next`, `password="[redacted]" next`},
		"JSON":                           {`{"user":"bob","clientSecret":"s3cr3t","n":1}`, `{"user":"bob","clientSecret":"[redacted]","n":1}`},
		"JSON within a string":           {`"{\"token\":\"abc\",\"a\":1}"`, `"{\"token\":[redacted]\",\"a\":1}"`},
		"in brackets":                    {"failed (token=abc)", "failed (token=[redacted])"},
		"in brackets, with marks after":  {"[failed {password: x}], (key: api_key=abc).", "[failed {password: [redacted]}], (key: api_key=[redacted])."},
		"a bracket of its own":           {"password=ab) (token=x))", "password=[redacted] (token=[redacted])"},
		"a bearer in brackets":           {"(sent Bearer abc.def)", "(sent Bearer [redacted])"},
		"a flag with its value after it": {"cqlsh --password hunter2 -e x", "cqlsh --password [redacted] -e x"},
		"a flag without a value":         {"x --password --verbose", "x --password --verbose"},
		"a header":                       {"authorization: Basic dXNlcjpwdw== x", "authorization: Basic [redacted] x"},
		"a bearer":                       {"sent Bearer abc.def", "sent Bearer [redacted]"},
		"a JWT":                          {"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_x ok", "got [redacted] ok"},
		"a cloud's key":                  {"key AKIAIOSFODNN7EXAMPLE", "key [redacted]"},
		"a private key":                  {"x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\ny", "x\n[redacted]\ny"},
		"a private key that breaks off":  {"-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]"},
		"prose":                          {"the secret is safe, no password needed", "the secret is safe, no password needed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := support.Text(c.in)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if again := support.Text(got); again != got {
				t.Errorf("again: %q", again)
			}
		})
	}
}

// No value under a secret-looking name survives anywhere in a Pod or StatefulSet, however it is written.
func TestNoSecretSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := "S3cr" + rapid.StringMatching(`[A-Za-z0-9!#$%*+,.:;<>?^_|~&()-]{4,24}`).Draw(t, "secret") + "T9x"
		name := rapid.SampledFrom([]string{"PASSWORD", "DB_PASSWORD", "apiToken", "client-secret", "ACCESS_KEY", "auth_token", "SCYLLA_CREDENTIALS", "passwd"}).Draw(t, "name")
		flag := "--" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		env := fmt.Sprintf(`"env":[{"name":%s,"value":%s},{"name":"PLAIN","value":%s}]`, quote(name), quote(secret), quote(secret))
		args := rapid.SampledFrom([]string{
			quote(flag + "=" + secret), quote(flag) + "," + quote(secret), quote("x " + flag + " " + secret + " y"), quote(name + "=" + secret),
			quote("export " + name + "='" + secret + "'; run"), quote(name + `: "` + secret + `"`), quote("-c") + "," + quote("run "+flag+"="+secret),
		}).Draw(t, "args")
		container := fmt.Sprintf(`{"name":"c",%s,"args":[%s],"livenessProbe":{"exec":{"command":[%s]}}}`, env, args, args)
		pod := fmt.Sprintf(`{"metadata":{"name":"p","annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s,"x":%s}},"spec":{"containers":[%s],"initContainers":[%s]}}`,
			quote(secret), quote(secret), container, container)
		text := rapid.SampledFrom([]string{`{"kind":"Pod",` + pod[1:], `{"kind":"StatefulSet","spec":{"template":` + pod + `}}`, `{"kind":"Vault",` + pod[1:]}).Draw(t, "object")
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		clean, _, ok := support.Redact(m)
		if !ok {
			return
		}
		out, err := json.Marshal(clean)
		if err != nil {
			t.Fatal(err)
		}
		if escaped := quote(secret); strings.Contains(string(out), escaped[1:len(escaped)-1]) {
			t.Fatalf("%q is still in %s", secret, out)
		}
		// Not even its end, where a mark within it could have been taken for the end of the word.
		if strings.Contains(string(out), "T9x") {
			t.Fatalf("the end of %q is still in %s", secret, out)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "password=x", `{"token":"a"}`, "https://a:b@c", `a\"b: c`, "-----BEGIN PRIVATE KEY-----", "--token '", `x="\`, "Authorization: Basic \xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := support.Text(s)
		if twice := support.Text(once); twice != once {
			t.Errorf("%q gives %q and then %q", s, once, twice)
		}
	})
}
