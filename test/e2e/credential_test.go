// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/inject"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/images"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// withPasswords lets ScyllaDB of a release require passwords.
func withPasswords(release string, more ...string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		for i := range s.Spec.Template.Spec.Containers {
			if c := &s.Spec.Template.Spec.Containers[i]; c.Name == api.ContainerScyllaDB {
				c.Env = append(c.Env, corev1.EnvVar{Name: "SCYLLASIM_VERSION", Value: release})
				c.Args = append(c.Args, "--authenticator=PasswordAuthenticator", "--maintenance-socket=workdir")
				c.Args = append(c.Args, more...)
			}
		}
	}
}

// untilCredential waits until the condition has this reason.
func (f *fixture) untilCredential(reason string) {
	f.t.Helper()
	f.waitFor("RootCredential "+reason, func(ctx context.Context) (bool, string, error) {
		r, err := f.report(ctx, "demo")
		c := meta.FindStatusCondition(r.Status.Conditions, api.ConditionRootCredential)
		return err == nil && c != nil && c.Reason == reason, fmt.Sprintf("%+v, settings %+v", c, r.Status.InitialSettings), err
	})
}

// untilSettings waits until both keyspaces have this replication.
func (f *fixture) untilSettings(replication string) {
	f.t.Helper()
	f.waitFor("both keyspaces to have "+replication, func(ctx context.Context) (bool, string, error) {
		r, err := f.report(ctx, "demo")
		n := 0
		if s := r.Status.InitialSettings; s != nil {
			for _, i := range s.Items {
				if i.State == "Applied" && i.Replication == replication {
					n++
				}
			}
		}
		return err == nil && n == 2, fmt.Sprintf("%+v", r.Status.InitialSettings), err
	})
}

// killedAt ends the container of the credential at each event, which ScyllaDB of the first node holds.
func (f *fixture) killedAt(events []string) {
	f.t.Helper()
	for _, event := range events {
		member := ""
		f.waitFor("ScyllaDB to hold "+event, func(ctx context.Context) (bool, string, error) {
			pods, err := f.Pods(ctx, f.namespace)
			for i := range pods {
				if text, err := f.ContainerLog(ctx, f.namespace, pods[i].Name, api.ContainerScyllaDB); err == nil && strings.Contains(text, "scyllasim holds "+event) {
					member = pods[i].Name
				}
			}
			return member != "", fmt.Sprintf("%d Pods", len(pods)), err
		})
		f.must(f.Cluster.SignalContainer(f.ctx, f.namespace, member, api.ContainerCredential, syscall.SIGKILL))
	}
}

// secret reads the Secret with an administrator's permissions.
func (f *fixture) secret() *corev1.Secret {
	f.t.Helper()
	s := &corev1.Secret{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: api.RootCredentialSecret("demo")}, s))
	return s
}

// A new cluster of each generation: the agent is killed between the steps, and every step takes effect once.
func TestRootCredentialUpTo20261(t *testing.T) {
	covers(t, "internal/credential", "internal/credential/cql", "internal/agent/credential", "controller/reports", "internal/setup/inject", "plugin/inject")
	t.Parallel()
	pods(t, 3)
	events := []string{"after LOGIN cassandra", "after LOGIN admin", "after CREATE ROLE", "before ALTER ROLE", "after ALTER ROLE"}
	f := stageCluster(t, scenario.Cluster{
		RootCredential: "managed", Mutate: withPasswords("2026.1.0"),
		Env: map[string]string{"SCYLLASIM_CQL_HOLDS": strings.Join(events, ",")},
	})
	f.killedAt(events)
	f.ready(3)
	f.untilCredential("Verified")
	f.untilSettings("NetworkTopologyStrategy dc1=3")
	f.wrongPasswordAndLostSecret()
	f.noPassword()
}

func TestRootCredentialFrom20262(t *testing.T) {
	covers(t, "internal/credential", "internal/credential/cql", "internal/agent/credential", "internal/credential/finding", "plugin/check")
	t.Parallel()
	pods(t, 3)
	events := []string{"after LOGIN cassandra", "after LOGIN admin", "before CREATE ROLE", "after CREATE ROLE"}
	f := stageCluster(t, scenario.Cluster{
		RootCredential: "managed", Mutate: withPasswords("2026.2.0"),
		Env: map[string]string{"SCYLLASIM_CQL_HOLDS": strings.Join(events, ","), "SCYLLASIM_CQL_TLS": "1"},
	})
	f.killedAt(events)
	f.ready(3)
	f.untilCredential("Verified")
	f.untilSettings("NetworkTopologyStrategy dc1=3")
	r := f.plugin("check")
	contains(t, "check", r.Stdout, "verified the root credential", "the replicas of system_distributed and system_traces moved", api.AnnotationRepaired)
	f.tokenReadsNothing()
	f.noPassword()
}

// verify reports an open default and changes nothing; the cluster grows all the same, and status stays HEALTHY.
func TestRootCredentialVerifiesAnOpenDefault(t *testing.T) {
	covers(t, "internal/credential", "internal/credential/cql", "internal/agent/credential", "internal/show/document", "plugin/status")
	t.Parallel()
	pods(t, 3)
	f := stageCluster(t, scenario.Cluster{RootCredential: "verify", Mutate: withPasswords("2026.1.0")})
	f.ready(3)
	f.untilCredential("DefaultSuperuserOpen")
	f.untilAllUp("demo", 3)
	// The report may show a member as joining for a moment after its Service has recorded the join.
	r := f.plugin("status", "demo", "--all", "--wait", "--timeout=2m")
	if r.Code != 0 {
		t.Errorf("status with an open default superuser: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "status", strings.Join(strings.Fields(r.Stdout), " "), "HEALTHY", "root credential: the default superuser cassandra logs in with its default password")
	f.untilEvent("demo", "CredentialFailed", "ALTER ROLE cassandra WITH SUPERUSER = false AND LOGIN = false")
	if err := f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: api.RootCredentialSecret("demo")}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("verify has a Secret: %v", err)
	}
}

// The factors of a second datacenter are set as well, once its node has joined.
func TestRootCredentialOfTwoDatacenters(t *testing.T) {
	covers(t, "internal/credential", "internal/view", "controller/reports")
	t.Parallel()
	pods(t, 3)
	f := stageCluster(t, scenario.Cluster{RootCredential: "managed", Mutate: func(s *appsv1.StatefulSet) {
		withPasswords("2026.2.0")(s)
		if s.Name != rack3 {
			return
		}
		s.Labels[api.LabelDatacenter], s.Spec.Template.Labels[api.LabelDatacenter] = "dc2", "dc2"
		for i := range s.Spec.Template.Spec.Containers {
			args := s.Spec.Template.Spec.Containers[i].Args
			if at := slices.Index(args, "--dc=dc1"); at >= 0 {
				args[at] = "--dc=dc2"
			}
		}
	}})
	f.ready(3)
	f.untilCredential("Verified")
	f.untilSettings("NetworkTopologyStrategy dc1=2 dc2=1")
	f.noPassword()
}

// wrongPasswordAndLostSecret: an existing role is never altered, and a lost Secret gets no new password.
func (f *fixture) wrongPasswordAndLostSecret() {
	f.t.Helper()
	s := f.secret()
	right := s.DeepCopy()
	s.Data["password"] = []byte("another-password-of-a-person")
	f.must(f.Client.Update(f.ctx, s))
	f.untilCredential("WrongPassword")
	f.must(f.Client.Delete(f.ctx, s))
	f.untilCredential("Missing")
	manifest := filepath.Join(f.t.TempDir(), "scylla.yaml")
	b, err := json.Marshal(f.oneSet())
	f.must(err)
	f.must(os.WriteFile(manifest, b, 0o600))
	if r := f.plugin("inject", "-f", manifest, "--image", images.AgentRef, "--root-credential=managed"); r.Code != 0 || !strings.Contains(r.Stderr, "create it before you apply the manifest, unless it exists") {
		f.t.Errorf("inject after the Secret was lost: exit %d\n%s", r.Code, r.Stderr)
	}
	if err := f.Client.Get(f.ctx, client.ObjectKeyFromObject(right), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		f.t.Errorf("inject -f has created a Secret: %v", err)
	}
	right.ObjectMeta = metav1.ObjectMeta{Namespace: right.Namespace, Name: right.Name}
	f.must(f.Client.Create(f.ctx, right))
	f.untilCredential("Verified")
}

// oneSet is a StatefulSet of the cluster, as it is.
func (f *fixture) oneSet() *appsv1.StatefulSet {
	f.t.Helper()
	s := &appsv1.StatefulSet{}
	f.must(f.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: rack1}, s))
	s.TypeMeta, s.ManagedFields = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, nil
	return s
}

// tokenReadsNothing tries 30 times to read the Secret with the token of a member's account.
func (f *fixture) tokenReadsNothing() {
	f.t.Helper()
	admin, err := clientset.NewForConfig(f.Cluster.RESTConfig())
	f.must(err)
	token, err := admin.CoreV1().ServiceAccounts(f.namespace).CreateToken(f.ctx, inject.DefaultServiceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	f.must(err)
	cfg := rest.AnonymousClientConfig(f.Cluster.RESTConfig())
	cfg.BearerToken = token.Status.Token
	member, err := clientset.NewForConfig(cfg)
	f.must(err)
	for i := range 30 {
		if _, err := member.CoreV1().Secrets(f.namespace).Get(f.ctx, api.RootCredentialSecret("demo"), metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			f.t.Fatalf("attempt %d on the Secret: %v", i+1, err)
		}
	}
}

// noPassword searches everything that the run has left, but the Secret, for the password and for any hash of one; a planted hit shows that the search finds it.
func (f *fixture) noPassword() {
	f.t.Helper()
	password := string(f.secret().Data["password"])
	search := func() (hits []string, bytes int) {
		for name, text := range f.remains() {
			bytes += len(text)
			if strings.Contains(text, password) || strings.Contains(text, "$6$") {
				hits = append(hits, name)
			}
		}
		return hits, bytes
	}
	hits, n := search()
	if len(hits) > 0 || n < 100_000 {
		f.t.Errorf("of %d bytes, these have the password or a hash: %q", n, hits)
	}
	f.t.Logf("searched %d bytes", n)
	for _, planted := range []string{password, "$6$salt$hash"} {
		s := f.service(rack1 + "-0")
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, "example.com/planted", planted)
		f.must(f.Client.Update(f.ctx, s))
		if hits, _ := search(); len(hits) == 0 {
			f.t.Errorf("the search does not find a planted %.3s", planted)
		}
		s = f.service(rack1 + "-0")
		delete(s.Annotations, "example.com/planted")
		f.must(f.Client.Update(f.ctx, s))
	}
}

// remains is every log, Event, object, archive, page and metric of the cluster, by name.
func (f *fixture) remains() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	pods, err := f.Pods(f.ctx, f.namespace)
	f.must(err)
	kubectl := func(name string, args ...string) {
		text, err := f.Cluster.Kubectl(f.ctx, append([]string{"-n", f.namespace}, args...)...)
		if err != nil {
			f.t.Logf("%s is not searched: %v", name, err)
		}
		out[name] = text
	}
	for i := range pods {
		p := &pods[i]
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			kubectl("log of "+p.Name+" "+c.Name, "logs", p.Name, "-c", c.Name)
			if c.Name == api.ContainerCredential && restarts(p) > 0 {
				kubectl("earlier log of "+p.Name+" "+c.Name, "logs", p.Name, "-c", c.Name, "--previous")
			}
		}
		kubectl("metrics of "+p.Name, "get", "--raw", "/api/v1/namespaces/"+f.namespace+"/pods/"+p.Name+":8081/proxy/metrics")
	}
	for _, kind := range []string{"pods", "statefulsets", "services", "persistentvolumeclaims", "configmaps", "leases", "events", "controllerrevisions", "scylladbstatusreports", "scylladbdatacenternodesstatusreports"} {
		kubectl(kind, "get", kind, "-o", "yaml", "--show-managed-fields")
	}
	out["log of the controller"], err = f.Cluster.Kubectl(f.ctx, "-n", "kubectl-scylla", "logs", "-l", "app.kubernetes.io/component=controller", "--tail=-1")
	f.must(err)
	archive := filepath.Join(f.t.TempDir(), "demo.zip")
	r := f.plugin("report", "demo", "--archive", archive)
	out["report"] = r.Stdout + r.Stderr
	for _, name := range []string{"status", "check", "report"} {
		for _, format := range []string{"", "json"} {
			args := []string{name, "-o", format}
			if format == "" {
				args = args[:1]
			}
			r := f.plugin(args...)
			out[name+" "+format] = r.Stdout + r.Stderr
		}
	}
	b, err := os.ReadFile(archive)
	f.must(err)
	for name, text := range unzip(f.t, b) {
		out["archive "+name] = text
	}
	return out
}

// unzip is the text of each file of an archive.
func unzip(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range z.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		out[file.Name] = string(text)
	}
	return out
}
