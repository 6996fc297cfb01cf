package main

var processes = []row{
	{"Sessions", []panel{
		one("Connected", "none", `troupe_session_connected{job=~"$job"}`, "{{instance}} {{troupe_session_name}}", "1 while there is a connection to ZooKeeper, and trust."),
		one("Trust, of the timeout", "percentunit", `troupe_session_trust_remaining_seconds{job=~"$job"} / troupe_session_timeout_seconds{job=~"$job"}`,
			"{{instance}} {{troupe_session_name}}", "A third or more while something is held, and all is well. An idle session lets it run down."),
		one("Changes of state", "none", `sum by (troupe_session_state) (increase(troupe_session_transitions_total{job=~"$job"}[$__rate_interval]))`, "{{troupe_session_state}}", "lost: a ZooKeeper session has ended."),
		one("Standing still", "s", `sum by (instance) (increase(troupe_session_stall_duration_seconds_sum{job=~"$job"}[$__rate_interval]))`, "{{instance}}",
			"For how long a process did not run while it held something: garbage collection, a CPU limit."),
		one("Events dropped", "none", `sum by (instance) (increase(troupe_events_dropped_total{job=~"$job"}[$__rate_interval]))`, "{{instance}}", "Counters and histograms lack these; gauges do not."),
		one("Recipes restarted", "none", `sum by (instance, troupe_recipe) (increase(troupe_actor_restarts_total{job=~"$job"}[$__rate_interval]))`, "{{instance}} {{troupe_recipe}}", "After a panic: a bug."),
	}},
	{"Elections", []panel{
		one("Leaders", "none", `sum by (troupe_session_name, troupe_name) (troupe_election_leading{job=~"$job"})`, "{{troupe_session_name}} {{troupe_name}}", "1, but for a moment of a hand-over. A name with # stands for several elections."),
		one("Who leads", "none", `troupe_election_leading{job=~"$job"} > 0`, "{{troupe_name}}: {{instance}}", ""),
		one("Tokens", "none", `troupe_election_token{job=~"$job"}`, "{{troupe_name}}: {{instance}}", "Of two that lead, the one with the greater token is newer."),
	}},
	{"Locks and other possessions", []panel{
		one("Held", "none", `sum by (troupe_recipe, troupe_name) (troupe_possession_held{job=~"$job"})`, "{{troupe_recipe}} {{troupe_name}}", ""),
		one("Waiting", "none", `sum by (troupe_recipe, troupe_name) (troupe_possession_waiting{job=~"$job"})`, "{{troupe_recipe}} {{troupe_name}}", ""),
		one("Lost", "none", `sum by (troupe_recipe, error_type) (increase(troupe_possession_losses_total{job=~"$job"}[$__rate_interval]))`, "{{troupe_recipe}}: {{error_type}}", "Possessions that ended otherwise than by their release or by Close."),
		{"Waits that have ended", "", "s", []query{
			{`histogram_quantile(0.5, sum by (troupe_name, le) (rate(troupe_possession_wait_duration_seconds_bucket{job=~"$job", troupe_recipe="lock", error_type!="held"}[$__rate_interval])))`, "half, {{troupe_name}}"},
			{`histogram_quantile(0.99, sum by (troupe_name, le) (rate(troupe_possession_wait_duration_seconds_bucket{job=~"$job", troupe_recipe="lock", error_type!="held"}[$__rate_interval])))`, "99 %, {{troupe_name}}"},
		}},
		{"Holds that have ended", "", "s", []query{
			{`histogram_quantile(0.5, sum by (troupe_name, le) (rate(troupe_possession_hold_duration_seconds_bucket{job=~"$job", troupe_recipe="lock"}[$__rate_interval])))`, "half, {{troupe_name}}"},
			{`histogram_quantile(0.99, sum by (troupe_name, le) (rate(troupe_possession_hold_duration_seconds_bucket{job=~"$job", troupe_recipe="lock"}[$__rate_interval])))`, "99 %, {{troupe_name}}"},
		}},
		one("The oldest that is held", "s", `max by (troupe_recipe, troupe_name) (troupe_possession_hold_age_seconds{job=~"$job"})`, "{{troupe_recipe}} {{troupe_name}}", ""),
	}},
	{"Requests to ZooKeeper", []panel{
		one("Requests", "reqps", `sum by (troupe_request_op) (rate(troupe_request_duration_seconds_count{job=~"$job"}[$__rate_interval]))`, "{{troupe_request_op}}", ""),
		one("Duration, 99 %", "s", `histogram_quantile(0.99, sum by (troupe_request_op, le) (rate(troupe_request_duration_seconds_bucket{job=~"$job"}[$__rate_interval])))`, "{{troupe_request_op}}", ""),
		one("Errors", "reqps", `sum by (troupe_request_op, error_type) (rate(troupe_request_duration_seconds_count{job=~"$job", error_type!=""}[$__rate_interval]))`,
			"{{troupe_request_op}}: {{error_type}}", "Some belong to the work: no_node of what is looked for, node_exists of what is there already."),
		one("Under way", "none", `sum by (instance) (troupe_request_active{job=~"$job"})`, "{{instance}}", "Requests that are not answered yet."),
		one("Watches", "none", `sum by (instance) (troupe_watch_count{job=~"$job"})`, "{{instance}}", ""),
	}},
}

var queues = []row{
	{"What is in ZooKeeper (troupe exporter)", []panel{
		one("Items", "none", `sum by (path, state) (troupe_queue_depth)`, "{{path}}: {{state}}", ""),
		one("The oldest that waits", "s", `max by (path) (troupe_queue_oldest_age_seconds)`, "{{path}}", "A line that rises steadily: nothing is taken."),
		one("Dead letters", "none", `max by (path) (troupe_queue_dead)`, "{{path}}", ""),
		one("Contenders", "none", `max by (path) (troupe_contenders)`, "{{path}}", "Of locks and elections, holders included."),
		one("Reads that failed", "none", `sum by (path) (increase(troupe_exporter_failures_total[$__rate_interval]))`, "{{path}}", "What cannot be read is missing in the other panels."),
	}},
	{"What processes do", []panel{
		one("Put", "ops", `sum by (messaging_destination_name) (rate(messaging_client_sent_messages_total{job=~"$job", messaging_system="troupe"}[$__rate_interval]))`, "{{messaging_destination_name}}", ""),
		one("Claimed", "ops", `sum by (messaging_destination_name) (rate(messaging_client_consumed_messages_total{job=~"$job", messaging_system="troupe"}[$__rate_interval]))`, "{{messaging_destination_name}}", ""),
		one("Settled", "ops", `sum by (messaging_destination_name, error_type) (rate(messaging_process_duration_seconds_count{job=~"$job", messaging_system="troupe"}[$__rate_interval]))`,
			"{{messaging_destination_name}}: {{error_type}}", "Without an error: acknowledged."),
		{"Processing", "", "s", []query{
			{`histogram_quantile(0.5, sum by (messaging_destination_name, le) (rate(messaging_process_duration_seconds_bucket{job=~"$job", messaging_system="troupe"}[$__rate_interval])))`, "half, {{messaging_destination_name}}"},
			{`histogram_quantile(0.99, sum by (messaging_destination_name, le) (rate(messaging_process_duration_seconds_bucket{job=~"$job", messaging_system="troupe"}[$__rate_interval])))`, "99 %, {{messaging_destination_name}}"},
		}},
		one("Putting, 99 %", "s", `histogram_quantile(0.99, sum by (messaging_destination_name, le) (rate(messaging_client_operation_duration_seconds_bucket{job=~"$job", messaging_system="troupe"}[$__rate_interval])))`,
			"{{messaging_destination_name}}", ""),
	}},
}
