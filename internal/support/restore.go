// SPDX-License-Identifier: Apache-2.0

package support

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// clusters creates snapshots from the files. rows are the rows that are empty in the files, by file
// and Pod.
func (s *Saved) clusters(files map[string][]byte, rows map[string]map[string]string) error {
	if s.Manifest.TakenAt != nil {
		s.TakenAt = s.Manifest.TakenAt.Time
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir, isSaid := strings.CutSuffix(name, saidName)
		if !isSaid || !strings.HasPrefix(dir, clustersDir) {
			continue
		}
		c, err := restore(dir, files, rows)
		if err != nil {
			return err
		}
		s.Clusters = append(s.Clusters, c)
	}
	if len(s.Clusters) == 0 {
		return errors.New("no cluster in the archive")
	}
	return nil
}

// notObjects are the files without objects of the snapshot.
var notObjects = []string{saidName, waitingName, nodesName, operatorName, tablesName}

// restore creates one cluster from the files below dir.
func restore(dir string, files map[string][]byte, rows map[string]map[string]string) (*Cluster, error) {
	var was said
	if err := json.Unmarshal(files[dir+saidName], &was); err != nil {
		return nil, fmt.Errorf("decode %s: %w", dir+saidName, err)
	}
	if !api.IsName(was.Namespace) || was.Name == "" || !api.IsLabelValue(was.Name) {
		return nil, fmt.Errorf("decode %s: invalid cluster name %.80q or namespace %.80q", dir+saidName, was.Name,
			was.Namespace)
	}
	snap, err := restoreSnapshot(dir, files, rows[dir+podsName], &was)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Snapshot: snap, Requested: cmp.Or(was.Requested, cluster.SourceAuto), Conditions: was.Conditions,
		Kubernetes: was.Kubernetes, Context: was.Context, LeftOut: was.LeftOut, Uncollected: was.Uncollected}
	c.archived = c.Snapshot
	if err := c.restoreSurroundings(dir, files); err != nil {
		return nil, err
	}
	// The archive's requested source does not apply now.
	if err := c.use(cluster.SourceAuto); err != nil {
		return nil, err
	}
	return c, nil
}

func restoreSnapshot(dir string, files map[string][]byte, rows map[string]string, was *said) (*cluster.Cluster, error) {
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base, mine := strings.CutPrefix(name, dir)
		if !mine || strings.Contains(base, "/") || !strings.HasSuffix(base, ".json") ||
			slices.Contains(notObjects, base) {
			continue
		}
		data := files[name]
		if was.Unlabelled {
			var err error
			if data, err = label(data, was.Name); err != nil {
				return nil, fmt.Errorf("decode %s: %w", name, err)
			}
		}
		all.Grow(len(data) + 1)
		all.Write(data)
		all.WriteString("\n")
	}
	snapshots, err := kube.Read(&all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimSuffix(dir, "/"), err)
	}
	if len(snapshots) != 1 || snapshots[0].Key != was.Key {
		return nil, fmt.Errorf("%s must contain the objects of cluster %s and of no other cluster",
			strings.TrimSuffix(dir, "/"), was.Key)
	}
	snap := snapshots[0]
	putRows(snap.Pods, rows)
	snap.OperatorState = was.Operator
	if snap.Machines, err = machines(files, dir, snap.Pods, was.Machines); err != nil {
		return nil, err
	}
	snap.Offline, snap.Problems, snap.Notes, snap.Live, snap.Facts = was.Offline, was.Problems, was.Notes, was.Live,
		was.Facts
	snap.Elsewhere, snap.Volumes, snap.Claimed, snap.NotReadySince = was.Elsewhere, was.Volumes, was.Claimed,
		was.NotReadySince
	snap.Classes, snap.Logged, snap.Gathered = was.Classes, was.Logged, was.Gathered
	if was.Read != 0 {
		snap.Read = was.Read
	}
	for member, row := range snap.Live {
		if row == nil {
			delete(snap.Live, member)
		}
	}
	source, err := cluster.ParseSource(string(was.Source))
	if err != nil || source == cluster.SourceAuto || source == cluster.SourceLive && snap.Live == nil {
		return nil, fmt.Errorf("decode %s: invalid source %q", dir+saidName, was.Source)
	}
	requested, err := cluster.ParseSource(string(cmp.Or(was.Requested, cluster.SourceAuto)))
	if err != nil || requested == cluster.SourceLive && snap.Live == nil {
		return nil, fmt.Errorf("decode %s: invalid requested source %q", dir+saidName, was.Requested)
	}
	var taken time.Time
	if was.TakenAt != nil {
		taken = *was.TakenAt
	}
	return cluster.New(snap, requested, taken), nil
}

// putRows sets the Pods' rows that are empty in the file.
func putRows(pods []corev1.Pod, rows map[string]string) {
	for i := range pods {
		if p := &pods[i]; rows[p.Name] != "" {
			p.Annotations[api.AnnotationNodeStatusReport] = rows[p.Name]
		}
	}
}

// machines returns the saved states of the Kubernetes nodes. The archive's Node objects replace
// these.
func machines(files map[string][]byte, dir string, pods []corev1.Pod, said map[string]string) (map[string]string,
	error) {
	data, ok := files[dir+nodesName]
	if !ok {
		return said, nil
	}
	var nodes corev1.NodeList
	if err := json.Unmarshal(data, &nodes); err != nil {
		return nil, fmt.Errorf("decode %s: %w", dir+nodesName, err)
	}
	out := map[string]string{}
	maps.Copy(out, said)
	for i := range pods {
		if name := pods[i].Spec.NodeName; name != "" {
			out[name] = cluster.KubernetesNodeGone
		}
	}
	for i := range nodes.Items {
		out[nodes.Items[i].Name] = cluster.KubernetesNodeState(&nodes.Items[i])
	}
	return out, nil
}

// restoreSurroundings reads the data outside the snapshot.
func (c *Cluster) restoreSurroundings(dir string, files map[string][]byte) error {
	var events corev1.EventList
	var nodes corev1.NodeList
	var operator struct {
		Items []map[string]any `json:"items"`
	}
	for _, f := range []struct {
		name string
		into any
	}{{eventsName, &events}, {nodesName, &nodes}, {operatorName, &operator}, {waitingName, &c.Waiting},
		{tablesName, &c.Tables}} {
		data, ok := files[dir+f.name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(data, f.into); err != nil {
			return fmt.Errorf("decode %s: %w", dir+f.name, err)
		}
	}
	c.Events, c.Nodes = events.Items, nodes.Items
	_, c.NodesRead = files[dir+nodesName]
	for _, o := range operator.Items {
		c.Operator = append(c.Operator, unstructured.Unstructured{Object: o})
	}
	for i := range c.Waiting {
		w := &c.Waiting[i]
		if !api.IsName(w.Pod) || !api.IsName(w.Container) {
			return fmt.Errorf("decode %s: invalid container name %.80q or Pod name %.80q", dir+waitingName, w.Container,
				w.Pod)
		}
		log := dir + logsDir + w.Pod + "/" + w.Container
		w.Log, w.PreviousLog = string(files[log+".log"]), string(files[log+previousSuffix])
	}
	return nil
}

// label sets the cluster's label on the objects of a List that were found without it.
func label(data []byte, cluster string) ([]byte, error) {
	var list map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	items, _ := list["items"].([]any)
	for _, item := range items {
		object, _ := item.(map[string]any)
		meta, _ := object["metadata"].(map[string]any)
		if meta == nil {
			continue
		}
		labels, _ := meta["labels"].(map[string]any)
		if labels == nil {
			labels = map[string]any{}
			meta["labels"] = labels
		}
		labels[api.LabelCluster] = cluster
	}
	return json.Marshal(list)
}
