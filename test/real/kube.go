// SPDX-License-Identifier: Apache-2.0

package real

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Kube is a Kubernetes cluster, by kubectl and its current context: a Pod for each node, with the address of a Service.
type Kube struct {
	image, binary, node string
	addresses           []string
}

const (
	places = 14
	inside = "/tmp/record" // where the probe is in a container
)

type object = map[string]any

// NewKube creates the namespace. It fails if there is one of this name, and never uses another.
func NewKube(ctx context.Context, image, binary string) (*Kube, error) {
	k := &Kube{image: image, binary: binary}
	if err := Command(ctx, "kubectl", "create", "namespace", label).failed(); err != nil {
		return nil, fmt.Errorf("create namespace %s: %w", label, err)
	}
	if err := k.prepare(ctx); err != nil {
		return nil, errors.Join(err, k.Close(context.WithoutCancel(ctx)))
	}
	return k, nil
}

// prepare creates the Services and chooses one Kubernetes node for all Pods, so that two can share a volume.
func (k *Kube) prepare(ctx context.Context) error {
	nodes := Command(ctx, "kubectl", "get", "nodes", "-o",
		`jsonpath={range .items[?(@.spec.unschedulable!=true)]}{.metadata.labels.kubernetes\.io/hostname}{" "}{.spec.taints}{"\n"}{end}`)
	for line := range strings.Lines(nodes.Out) {
		if name, taints, _ := strings.Cut(strings.TrimSpace(line), " "); taints == "" && k.node == "" {
			k.node = name
		}
	}
	if k.node == "" {
		return errors.Join(errors.New("no Kubernetes node without taints"), nodes.failed())
	}
	for i := range places {
		name := "place-" + strconv.Itoa(i+1)
		ports := []object{{"name": "storage", "port": 7000}, {"name": "cql", "port": 9042}}
		err := k.apply(ctx, object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name},
			"spec": object{"selector": object{"place": name}, "publishNotReadyAddresses": true, "ports": ports}})
		ip := k.run(ctx, "get", "service", name, "-o", "jsonpath={.spec.clusterIP}")
		if err := errors.Join(err, ip.failed()); err != nil {
			return err
		}
		k.addresses = append(k.addresses, ip.Out)
	}
	return nil
}

func (k *Kube) run(ctx context.Context, args ...string) Result {
	return Command(ctx, "kubectl", append([]string{"-n", label}, args...)...)
}

func (k *Kube) apply(ctx context.Context, o object) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "kubectl", "-n", label, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(string(b))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// About implements Engine.
func (k *Kube) About(ctx context.Context) (engine, digest string, err error) {
	v := k.run(ctx, "get", "node", "-l", "kubernetes.io/hostname="+k.node, "-o",
		"jsonpath=Kubernetes {.items[0].status.nodeInfo.kubeletVersion}, {.items[0].status.nodeInfo.containerRuntimeVersion}")
	return v.Out, "", v.failed()
}

// Address implements Engine.
func (k *Kube) Address(number int) string { return k.addresses[number-1] }

// Start implements Engine.
func (k *Kube) Start(ctx context.Context, node, address string, args []string) error {
	place := ""
	for i, a := range k.addresses {
		if a == address {
			place = "place-" + strconv.Itoa(i+1)
		}
	}
	args = append([]string{"--listen-address=0.0.0.0", "--rpc-address=0.0.0.0", "--broadcast-address=" + address,
		"--broadcast-rpc-address=" + address}, args...)
	return k.pod(ctx, node, object{"place": place}, object{"args": args}, node)
}

// pod creates a Pod with these volumes, the first one at ScyllaDB's place, waits until it runs, and puts the probe in.
func (k *Kube) pod(ctx context.Context, name string, labels, container object, volumes ...string) error {
	var mounts, from []object
	for i, v := range volumes {
		err := k.apply(ctx, object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": v}, "spec": object{
			"accessModes": []string{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "5Gi"}}}})
		if err != nil {
			return err
		}
		mounts = append(mounts, object{"name": v, "mountPath": []string{"/var/lib/scylla", "/from"}[i]})
		from = append(from, object{"name": v, "persistentVolumeClaim": object{"claimName": v}})
	}
	container["name"], container["image"], container["volumeMounts"] = "scylla", k.image, mounts
	container["securityContext"] = object{"runAsUser": 0}
	err := k.apply(ctx, object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "labels": labels}, "spec": object{
		"restartPolicy": "Never", "enableServiceLinks": false, "automountServiceAccountToken": false, "containers": []object{container},
		"volumes": from, "nodeSelector": object{"kubernetes.io/hostname": k.node}}})
	if err != nil {
		return err
	}
	if err := k.run(ctx, "wait", "--for=condition=Ready", "pod/"+name, "--timeout=5m").failed(); err != nil {
		return err
	}
	program, err := os.Open(k.binary)
	if err != nil {
		return err
	}
	defer program.Close()
	cmd := exec.CommandContext(ctx, "kubectl", "-n", label, "exec", "-i", name, "--", "/bin/sh", "-c", "cat > "+inside+" && chmod 755 "+inside)
	cmd.Stdin = program
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("put the probe in: %w: %s", err, out)
	}
	return nil
}

// End implements Engine. A Pod has no SIGKILL for all of its processes at once: ScyllaDB is held, so that it flushes nothing, until the
// kubelet ends the Pod.
func (k *Kube) End(ctx context.Context, node string, kill bool) (logs []string, exit int, err error) {
	signal, grace := "TERM", "120"
	if kill {
		signal, grace = "STOP", "1"
	}
	err = k.Probe(ctx, node, "signal", signal).failed()
	exit = -1
	if !kill {
		r := k.run(ctx, "wait", "--for=jsonpath={.status.containerStatuses[0].state.terminated}", "pod/"+node, "--timeout=2m")
		code := k.run(ctx, "get", "pod", node, "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}")
		if n, parse := strconv.Atoi(code.Out); parse == nil {
			exit = n
		}
		err = errors.Join(err, r.failed())
	}
	logs, failed := k.Logs(ctx, node)
	return logs, exit, errors.Join(err, failed, k.run(ctx, "delete", "pod", node, "--grace-period="+grace).failed())
}

// Logs implements Engine.
func (k *Kube) Logs(ctx context.Context, node string) ([]string, error) {
	r := k.run(ctx, "logs", node)
	return lines(r.Out), r.failed()
}

// Exec implements Engine.
func (k *Kube) Exec(ctx context.Context, node string, args ...string) Result {
	return k.run(ctx, append([]string{"exec", node, "--"}, args...)...)
}

// Probe implements Engine.
func (k *Kube) Probe(ctx context.Context, node string, args ...string) Result {
	return k.Exec(ctx, node, append([]string{inside, "probe"}, args...)...)
}

// OnVolume implements Engine.
func (k *Kube) OnVolume(ctx context.Context, node string, args ...string) Result {
	return k.once(ctx, func() Result { return k.Probe(ctx, "once", args...) }, node)
}

// Clone implements Engine.
func (k *Kube) Clone(ctx context.Context, from, to string) error {
	return k.once(ctx, func() Result { return k.Exec(ctx, "once", "/bin/sh", "-c", "cp -a /from/. /var/lib/scylla/") }, to, from).failed()
}

func (k *Kube) once(ctx context.Context, do func() Result, volumes ...string) Result {
	defer k.run(ctx, "delete", "pod", "once", "--grace-period=1")
	if err := k.pod(ctx, "once", object{}, object{"command": []string{"/bin/sh", "-c", "sleep 600"}}, volumes...); err != nil {
		return Result{Err: err.Error(), Exit: -1}
	}
	return do()
}

// Close implements Engine.
func (k *Kube) Close(ctx context.Context) error {
	return Command(ctx, "kubectl", "delete", "namespace", label, "--timeout=5m").failed()
}
