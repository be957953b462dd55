//! The Helm chart in deploy/, parsed like Kubernetes does: no unknown fields, and consistent references. Also, for all
//! engines, every variable is known to our programs. For Docker Compose, Grafana's provisioning is consistent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use queens_tests::directory::files_below;
use queens_tests::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy");

/// Returns the documents of a YAML text.
#[track_caller]
fn documents(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect("YAML");
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns kind and name of an object.
fn title(object: &Value) -> String {
    format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"))
}

/// Returns the error of an object of this type.
fn wrong_with<T: DeserializeOwned>(object: &Value) -> Option<String> {
    let mut unknown = vec![];
    match serde_ignored::deserialize::<_, _, T>(object, |path| {
        unknown.push(path.to_string().replace(".?", ""));
    }) {
        Err(error) => Some(error.to_string()),
        Ok(_) => (!unknown.is_empty()).then(|| format!("nobody knows {}", unknown.join(", "))),
    }
}

/// The fields that we use of a resource of the Prometheus operator.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "what is read is looked at by serde alone")]
struct ServiceMonitor {
    api_version: String,
    kind: String,
    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    spec: MonitorSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "what is read is looked at by serde alone")]
struct MonitorSpec {
    selector: k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector,
    job_label: String,
    endpoints: Vec<Endpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "what is read is looked at by serde alone")]
struct Endpoint {
    port: String,
    path: String,
    scheme: String,
    interval: String,
    authorization: BTreeMap<String, k8s_openapi::api::core::v1::SecretKeySelector>,
    tls_config: Value,
}

/// Returns the error of an object.
fn wrong(object: &Value) -> Option<String> {
    let wrong = match (text(object, "/apiVersion"), text(object, "/kind")) {
        ("v1", "Service") => wrong_with::<Service>(object),
        ("apps/v1", "StatefulSet") => wrong_with::<StatefulSet>(object),
        ("apps/v1", "Deployment") => wrong_with::<Deployment>(object),
        ("scheduling.k8s.io/v1", "PriorityClass") => wrong_with::<PriorityClass>(object),
        ("policy/v1", "PodDisruptionBudget") => wrong_with::<PodDisruptionBudget>(object),
        ("networking.k8s.io/v1", "NetworkPolicy") => wrong_with::<NetworkPolicy>(object),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => wrong_with::<HorizontalPodAutoscaler>(object),
        ("monitoring.coreos.com/v1", "ServiceMonitor") => wrong_with::<ServiceMonitor>(object),
        (version, kind) => Some(format!("there is no {kind} in {version}")),
    };
    wrong.map(|wrong| format!("{}: {wrong}", title(object)))
}

#[test]
fn every_field_is_one_that_kubernetes_knows() {
    let Some(made) = chart("monitoring.enabled=true") else { return };
    assert!(made.len() >= 9, "{made:?}");
    let settings = "autoscaling.enabled=true,network.enabled=false,worker.makePriorityClass=false";
    let made = chart(settings).expect("helm is there");
    assert!(made.contains_key("HorizontalPodAutoscaler worker"), "{made:?}");
    let absent = ["NetworkPolicy", "PriorityClass", "ServiceMonitor"];
    assert!(!made.keys().any(|title| absent.iter().any(|kind| title.starts_with(kind))), "{made:?}");
    // The autoscaler sets the number of workers.
    assert_eq!(made["Deployment worker"]["spec"].get("replicas"), None);
}

/// Every selector selects something, and every port name exists.
#[test]
fn what_belongs_together_fits() {
    let Some(made) = chart("monitoring.enabled=true") else { return };
    let templates: Vec<&Value> =
        made.values().filter_map(|object| object.pointer("/spec/template")).collect();
    assert_eq!(templates.len(), 2);
    let mut n_selectors = 0;
    for object in made.values() {
        let service = object.pointer("/spec/selector").filter(|_| object["kind"] == "Service");
        let pointers = ["/spec/selector/matchLabels", "/spec/podSelector/matchLabels"];
        let selectors = pointers.iter().filter_map(|pointer| object.pointer(pointer)).chain(service);
        for selector in selectors {
            let selected = templates.iter().filter(|template| &template["metadata"]["labels"] == selector);
            assert_eq!(selected.count(), 1, "{}: {selector}", title(object));
            n_selectors += 1;
        }
    }
    // For both sets of pods: the service, budgets, rules and the monitor.
    assert_eq!(n_selectors, 8);
    for template in templates {
        let pod = &template["spec"];
        let container = &pod["containers"][0];
        let mounted =
            container["volumeMounts"].as_array().expect("volumes").iter().map(|mount| text(mount, "/name"));
        let mut volumes: BTreeSet<_> =
            pod["volumes"].as_array().expect("volumes").iter().map(|volume| text(volume, "/name")).collect();
        if text(container, "/name") == "coordinator" {
            volumes.insert("data");
        }
        assert_eq!(mounted.collect::<BTreeSet<_>>(), volumes);
        assert_eq!(text(container, "/command/0"), format!("/queens-{}", text(container, "/name")));
        assert_eq!(text(container, "/image"), concat!("queens:", env!("CARGO_PKG_VERSION")));
    }
}

/// Returns the environment variables that a program knows.
fn known(name: &str) -> BTreeSet<String> {
    let help = run(program(name).arg("--help")).stdout;
    // The log level is in no list of options.
    variables(&help).chain(["QUEENS_LOG".to_owned()]).collect()
}

/// Returns our variables that a text mentions.
fn variables(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("QUEENS_") && word.len() > 7).map(str::to_owned)
}

#[test]
fn what_engines_set_is_what_programs_know() {
    let all: BTreeSet<_> = ["queens-coordinator", "queens-worker"].into_iter().flat_map(known).collect();
    let mut found = vec![];
    for engine in ["helm", "slurm", "htcondor", "ssh"] {
        found.extend(files_below(Path::new(DEPLOY).join(engine)));
    }
    let mut n_variables = 0;
    for file in found {
        for name in variables(&fs::read_to_string(&file).expect("UTF-8")) {
            assert!(all.contains(&name), "{}: no program knows {name}", file.display());
            n_variables += 1;
        }
    }
    assert!(n_variables > 20, "{n_variables}");
}

/// The beginning of a chart's names, which [`chart`] removes.
const FULLNAME: &str = "x9";

/// The label of the objects of a release.
const RELEASE: &str = "app.kubernetes.io/instance";

/// Runs helm with these settings; nothing, with a line, if it is missing.
fn helm(settings: &str) -> Option<Ended> {
    helm_of("queens", settings)
}

/// Runs helm for a release of this name.
fn helm_of(release: &str, settings: &str) -> Option<Ended> {
    if !is_installed("helm") {
        skipped("the Helm chart, without helm");
        return None;
    }
    let mut helm = clean(Command::new("helm"));
    helm.args(["template", release]).arg(Path::new(DEPLOY).join("helm/queens"));
    helm.args(["--set", settings]);
    Some(run(helm))
}

/// Returns the chart's objects with these settings, by title.
fn chart(settings: &str) -> Option<BTreeMap<String, Value>> {
    let rendered = helm(&format!("fullnameOverride={FULLNAME},{settings}"))?;
    assert!(rendered.status.success(), "{rendered:?}");
    let mut objects = documents(&rendered.stdout.replace(&format!("{FULLNAME}-"), ""));
    objects.iter_mut().for_each(remove_release);
    let wrong: Vec<_> = objects.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    Some(objects.into_iter().map(|object| (title(&object), object)).collect())
}

/// Removes the label that tells releases of the chart apart.
fn remove_release(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(remove_release),
        Value::Object(fields) => {
            fields.remove(RELEASE);
            fields.values_mut().for_each(remove_release);
        }
        _ => {}
    }
}

/// Returns all texts of a value.
fn texts<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        Value::String(text) => _ = found.insert(text),
        _ => {}
    }
}

/// Two releases in one namespace share no names, secrets, hosts or pods.
#[test]
fn the_chart_fits_twice_in_a_namespace() {
    const SETTINGS: &str =
        "monitoring.enabled=true,autoscaling.enabled=true,gpu.replicas=1,coordinator.store.url=";
    for store in ["", "postgres://queens@db/queens"] {
        let release = |name: &str| helm_of(name, &format!("{SETTINGS}{store}"));
        let Some((one, other)) = release("queens").zip(release("night")) else { return };
        let [one, other] = [one, other].map(|ended| documents(&ended.stdout));
        assert_eq!(one.len(), other.len());
        let titles = |objects: &[Value]| objects.iter().map(title).collect::<BTreeSet<_>>();
        assert!(titles(&one).is_disjoint(&titles(&other)), "{:?} {:?}", titles(&one), titles(&other));
        let named = |objects: &[Value], begins: &str| {
            let mut found = BTreeSet::new();
            objects.iter().for_each(|object| texts(object, &mut found));
            let found = found.into_iter().filter(|text| text.contains(begins));
            found.map(str::to_owned).collect::<BTreeSet<_>>()
        };
        // Secrets and hosts begin with the name of the release.
        let (its, others) = (named(&one, "queens-"), named(&other, "night-queens-"));
        assert!(others.len() >= 9, "{others:?}");
        let renamed = its.iter().filter(|text| !text.starts_with('/') && *text != "queens-gpu:0.3.0");
        let renamed: BTreeSet<_> = renamed.map(|text| text.replace("queens-", "night-queens-")).collect();
        assert!(renamed.is_subset(&others), "{renamed:?} {others:?}");
        for object in &one {
            let pointers = [
                "/spec/selector/matchLabels",
                "/spec/podSelector/matchLabels",
                "/spec/template/metadata/labels",
            ];
            let service = object.pointer("/spec/selector").filter(|_| object["kind"] == "Service");
            for labels in pointers.iter().filter_map(|pointer| object.pointer(pointer)).chain(service) {
                assert_eq!(labels[RELEASE], "queens", "{}: {labels}", title(object));
            }
        }
    }
    let first = |ended: Option<Ended>| documents(&ended.expect("helm").stdout).iter().map(title).next_back();
    let named = first(helm_of("night", "nameOverride=board,network.enabled=false"));
    assert!(named.as_ref().is_some_and(|title| title.contains(" night-board-")), "{named:?}");
}

/// A mistyped setting is named, instead of having no effect.
#[test]
fn the_chart_refuses_settings_that_it_does_not_have() {
    let wrong = [
        ("worker.replica=3", "at '/worker': additional properties 'replica' not allowed"),
        ("worker.replicas=many", "at '/worker/replicas': got string, want integer"),
        ("coordinator.url=http://coordinator:50051", "at '/coordinator/url'"),
        ("fullnameOverride=Night_1", "at '/fullnameOverride'"),
    ];
    for (settings, expected) in wrong {
        let Some(ended) = helm(settings) else { return };
        assert!(!ended.status.success() && ended.stderr.contains(expected), "{settings}: {ended:?}");
    }
}

/// Workers on cards are beside the others, with their settings, and may connect to the coordinator, too.
#[test]
fn the_chart_makes_workers_on_cards() {
    let settings = "gpu.replicas=3,autoscaling.enabled=true,worker.priorityClass=low,worker.resources.requests.memory=64Mi";
    let Some(made) = chart(settings) else { return };
    let on_cards = &made["Deployment worker-gpu"]["spec"];
    assert_eq!(on_cards["replicas"], 3);
    let pods = [&made["Deployment worker"]["spec"], on_cards].map(|spec| &spec["template"]["spec"]);
    let container = |pod: &Value| pod["containers"][0].clone();
    let [plain, container] = pods.map(container);
    let image = concat!("queens-gpu:", env!("CARGO_PKG_VERSION"));
    assert_eq!((text(&container, "/image"), &container["command"]), (image, &plain["command"]));
    let cards = pods.map(|pod| pod["containers"][0]["resources"]["limits"].get("nvidia.com/gpu").cloned());
    assert_eq!(cards, [None, Some("1".into())]);
    let shared = ["/priorityClassName", "/containers/0/resources/requests", "/volumes", "/securityContext"];
    for pointer in shared {
        let [plain, other] = pods.map(|pod| pod.pointer(pointer));
        assert!(plain.is_some() && plain == other, "{pointer}: {other:?}");
    }
    let mut variables = plain["env"].as_array().expect("variables").clone();
    variables.push(json!({ "name": "QUEENS_GPU", "value": "all" }));
    assert_eq!(container["env"], Value::Array(variables));

    let labels = &on_cards["template"]["metadata"]["labels"];
    assert_eq!(labels, &on_cards["selector"]["matchLabels"]);
    assert_eq!(labels, &made["NetworkPolicy worker-gpu"]["spec"]["podSelector"]["matchLabels"]);
    assert_eq!(labels, &made["PodDisruptionBudget worker-gpu"]["spec"]["selector"]["matchLabels"]);
    let admitted = &made["NetworkPolicy coordinator"]["spec"]["ingress"][0]["from"];
    let admitted = admitted.as_array().expect("pods").iter().map(|from| &from["podSelector"]["matchLabels"]);
    assert!(admitted.clone().any(|from| from == labels), "{:?}", admitted.collect::<Vec<_>>());
}

/// With a database, there are two coordinators with names that workers know, and no volume.
#[test]
fn the_chart_makes_two_coordinators_that_share_a_database() {
    let url = "postgres://queens@db:6432/queens";
    let settings =
        format!("coordinator.store.url={url},coordinator.store.port=6432,coordinator.store.ca=true");
    let Some(made) = chart(&settings) else { return };
    let coordinators = &made["StatefulSet coordinator"]["spec"];
    assert_eq!(coordinators["replicas"], 2);
    assert_eq!(coordinators.get("volumeClaimTemplates"), None);
    let pod = &coordinators["template"]["spec"];
    let container = &pod["containers"][0];
    let told = |variable: &str| {
        let variables = container["env"].as_array().expect("variables");
        variables.iter().find(|one| one["name"] == variable).map(|one| text(one, "/value").to_owned())
    };
    assert_eq!(told("QUEENS_STORE").as_deref(), Some(url));
    let (secret, ca) = (told("QUEENS_STORE_PASSWORD_FILE"), told("QUEENS_STORE_CA"));
    assert_eq!((secret.as_deref(), ca.as_deref()), (Some("/store/password"), Some("/store/ca.pem")));
    let mounted = container["volumeMounts"].as_array().expect("volumes");
    let volumes = pod["volumes"].as_array().expect("volumes");
    let names = |all: &[Value]| all.iter().map(|one| text(one, "/name").to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names(mounted), names(volumes));

    // The certificate key must exist before they start.
    let brings = |made: &BTreeMap<String, Value>| {
        made["StatefulSet coordinator"].pointer("/spec/template/spec/initContainers/0").cloned()
    };
    assert_eq!(brings(&made), None);
    let signing = format!("coordinator.store.url={url},coordinator.store.signingKey=one");
    let brought = chart(&signing).and_then(|made| brings(&made)).expect("it brings one");
    assert_eq!(text(&brought, "/command/1"), "key");
    assert_eq!(text(&brought, "/command/5"), "/signing/signing.key");

    // Its own name, for which a service of this name must exist, is one of the workers' URLs.
    let url = told("QUEENS_URL").expect("a URL");
    let service = text(coordinators, "/serviceName");
    assert!(url.contains(&format!("$(POD).{service}:")), "{url}");
    assert_eq!(made[&format!("Service {service}")]["spec"]["clusterIP"], "None");
    let workers = made["Deployment worker"].to_string();
    let both: Vec<_> = (0..2).map(|number| url.replace("$(POD)", &format!("coordinator-{number}"))).collect();
    assert!(workers.contains(&both.join(",")), "{workers}");

    // The standby must not block an update.
    assert_eq!(text(container, "/readinessProbe/httpGet/path"), "/healthz");
    let rules = made["NetworkPolicy coordinator"]["spec"]["egress"].to_string();
    assert!(rules.contains("6432") && rules.contains("53"), "{rules}");
}

/// The fields that we use of Grafana's data source files.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DataSources {
    api_version: u8,
    datasources: Vec<DataSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "serde checks the names and types of all fields")]
struct DataSource {
    name: String,
    uid: String,
    r#type: String,
    access: String,
    url: String,
    is_default: bool,
    editable: bool,
    json_data: DataSourceOptions,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DataSourceOptions {
    time_interval: String,
}

/// The fields that we use of Grafana's dashboard files.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DashboardProviders {
    api_version: u8,
    providers: Vec<DashboardProvider>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "serde checks the names and types of all fields")]
struct DashboardProvider {
    name: String,
    r#type: String,
    disable_deletion: bool,
    allow_ui_updates: bool,
    options: BTreeMap<String, String>,
}

/// Parses a YAML file of the repository.
#[track_caller]
fn yaml<T: DeserializeOwned>(path: &str) -> T {
    let text = fs::read_to_string(Path::new(DEPLOY).join("..").join(path)).expect("UTF-8");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Collects the field `uid` of all data sources that a dashboard uses.
fn data_sources<'a>(dashboard: &'a Value, found: &mut BTreeSet<&'a str>) {
    if let Some(uid) = dashboard.pointer("/datasource/uid").and_then(Value::as_str) {
        found.insert(uid);
    }
    let below: Vec<&Value> = match dashboard {
        Value::Array(all) => all.iter().collect(),
        Value::Object(all) => all.values().collect(),
        _ => vec![],
    };
    below.into_iter().for_each(|value| data_sources(value, found));
}

#[test]
fn grafana_of_docker_compose_shows_the_dashboard() {
    let compose: Value = yaml("docker-compose.yml");
    let grafana = &compose["services"]["grafana"];
    let mounts: BTreeMap<&str, &str> = grafana["volumes"]
        .as_array()
        .expect("volumes")
        .iter()
        .map(|mount| {
            mount.as_str().and_then(|mount| mount.strip_suffix(":ro")?.split_once(':')).expect("a file")
        })
        .map(|(file, path)| (path, file))
        .collect();
    let file = |path: &str| *mounts.get(path).unwrap_or_else(|| panic!("no {path}: {mounts:?}"));

    let sources: DataSources = yaml(file("/etc/grafana/provisioning/datasources/queens.yml"));
    let [source] = &sources.datasources[..] else { panic!("one data source") };
    assert_eq!((sources.api_version, source.is_default, source.access.as_str()), (1, true, "proxy"));
    assert_eq!(source.url, "http://prometheus:9090");
    assert!(compose["services"]["prometheus"].is_object());
    let prometheus: Value = yaml("deploy/prometheus.yml");
    assert_eq!(source.json_data.time_interval, text(&prometheus, "/global/scrape_interval"));

    let home = text(grafana, "/environment/GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH");
    let boards: DashboardProviders = yaml(file("/etc/grafana/provisioning/dashboards/queens.yml"));
    let [provider] = &boards.providers[..] else { panic!("one directory") };
    assert_eq!((boards.api_version, provider.r#type.as_str()), (1, "file"));
    assert!(Path::new(home).starts_with(&provider.options["path"]), "{home}");

    // The panels use the variable, which selects the one data source.
    let dashboard: Value = yaml(file(home));
    let mut uids = BTreeSet::new();
    data_sources(&dashboard, &mut uids);
    assert_eq!(uids, BTreeSet::from(["${datasource}"]));
    let variable = &dashboard["templating"]["list"][0];
    assert_eq!((text(variable, "/name"), text(variable, "/type")), ("datasource", "datasource"));
    assert_eq!(text(variable, "/query"), source.r#type);
    assert_eq!(text(variable, "/current/value"), source.uid);
}

/// Ports are open only to this machine, pulled images have a version, mounted files exist, and our programs know their
/// environment.
#[test]
fn docker_compose_is_for_this_machine() {
    let compose: Value = yaml("docker-compose.yml");
    let services = compose["services"].as_object().expect("services");
    let list = |service: &Value, key: &str| service[key].as_array().cloned().unwrap_or_default();
    let mut n_ports = 0;
    for (name, service) in services {
        for port in list(service, "ports") {
            assert!(port.as_str().is_some_and(|port| port.starts_with("127.0.0.1:")), "{name}: {port}");
            n_ports += 1;
        }
        for mount in list(service, "volumes") {
            let source =
                mount.as_str().and_then(|mount| mount.split(':').next()).expect("a source").to_owned();
            let is_there = Path::new(DEPLOY).join("..").join(&source).exists();
            let is_volume = compose["volumes"].get(&source).is_some();
            assert!(if source.starts_with('.') { is_there } else { is_volume }, "{name}: {source}");
        }
        if ["coordinator", "worker", "worker-gpu"].contains(&name.as_str()) {
            let known = known(&format!("queens-{}", name.trim_end_matches("-gpu")));
            let set = service["environment"].as_object().expect("variables");
            assert!(set.keys().all(|variable| known.contains(variable)), "{name}: {set:?}");
        } else if name != "queens" {
            let image = text(service, "/image").trim_end_matches('}');
            let version = image.rsplit_once(':').expect("a version").1.trim_start_matches('v');
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{name}: {image}");
        }
    }
    assert_eq!(n_ports, 4);
}
