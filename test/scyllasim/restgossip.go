// SPDX-License-Identifier: Apache-2.0

package scyllasim

func (n *Node) endpoints(live bool) (any, error) {
	ips := []string{}
	for _, e := range n.gossip.view() {
		if e.Alive == live {
			if !live && e.HostID == n.hostID {
				continue // a node never is unreachable to itself
			}
			ips = addUnique(ips, e.IP)
		}
	}
	return ips, nil
}

func (n *Node) apiFDEndpoints(apiCall) (any, error) {
	out := streamed{}
	for _, e := range n.gossip.view() {
		apps := []any{}
		for _, k := range sortedKeys(e.App) {
			apps = append(apps, obj{{"application_state", k}, {"value", e.App[k].Value}, {"version", e.App[k].Version}})
		}
		out = append(out, obj{
			{"application_state", apps}, {"addrs", e.IP}, {"generation", e.Gen}, {"is_alive", e.Alive},
			{"update_time", e.Updated.UnixMilli()}, {"version", e.Ver},
		})
	}
	return out, nil
}

func (n *Node) apiSchemas(apiCall) (any, error) {
	byVersion := map[string][]string{}
	for _, e := range n.gossip.view() {
		if !e.Alive {
			continue
		}
		v := e.App[appSchema].Value
		if v == "" {
			v = "UNREACHABLE"
		}
		byVersion[v] = append(byVersion[v], e.IP)
	}
	out := []keyValue{}
	for _, k := range sortedKeys(byVersion) {
		out = append(out, keyValue{k, byVersion[k]})
	}
	return out, nil
}
