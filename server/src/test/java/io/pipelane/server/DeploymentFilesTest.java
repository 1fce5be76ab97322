package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.pipelane.config.ConfigLoader;
import io.pipelane.config.ConfigLocation;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.server.cli.ConfigOptions;
import io.pipelane.server.cli.Pipelane;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.ParseResult;

/** What deploy/ says of ports, flags, paths and times, held against the server itself. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class DeploymentFilesTest {
  private static final Path DEPLOY = Path.of("..", "deploy");
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  private static final Map<String, String> ENVIRONMENT = Map.of("HOME", "/home/someone");
  private static final int SECONDS_TO_END = 5;

  /** terminationGracePeriodSeconds where nobody sets it. */
  private static final int SECONDS_OF_A_POD = 30;

  @TempDir private Path folder = Path.of("");

  @BeforeEach
  void theFilesAreThere() {
    assumeTrue(Files.isDirectory(DEPLOY), "tests run beside the sources");
  }

  @Test
  void deployment_agreesWithItsConfiguration() throws IOException {
    JsonNode pod = read("kubernetes/deployment.yaml").at("/spec/template/spec");
    JsonNode container = pod.at("/containers/0");
    PipelaneConfig config = configurationOfKubernetes();
    assertEquals(config.server().httpPort(), port(container, "http"));
    assertEquals(config.server().effectiveGrpcPort(), port(container, "grpc"));
    assertEquals(
        "0.0.0.0", config.server().host().text(), "probes come from outside the container");

    long grace = pod.path("terminationGracePeriodSeconds").asLong();
    long wait = container.at("/lifecycle/preStop/sleep/seconds").asLong();
    long drain = config.server().drainTimeout().toSeconds();
    assertTrue(grace >= wait + drain + SECONDS_TO_END, grace + " s are too few to drain");

    ParseResult command = parse(texts(container.path("args")));
    Path named = command.matchedOptionValue("--config", Path.of("none"));
    assertEquals(ConfigLocation.OF_THE_SYSTEM, named);
    List<String> mounts = texts(container.path("volumeMounts"), "mountPath");
    assertTrue(mounts.contains(String.valueOf(named.getParent())), mounts::toString);
    assertTrue(mounts.contains(config.repository().path().orElseThrow().toString()));
    assertTrue(mounts.contains(config.repository().cache().toString()));
    assertTrue(container.at("/securityContext/readOnlyRootFilesystem").asBoolean());
  }

  @Test
  void probesAndScrapes_askWhatIsServed() throws Exception {
    JsonNode container = read("kubernetes/deployment.yaml").at("/spec/template/spec/containers/0");
    JsonNode kserve = read("kserve/serving-runtime.yaml").at("/spec/containers/0");
    JsonNode repository = read("kserve/repository-runtime.yaml").at("/spec/containers/0");
    List<String> paths = new ArrayList<>();
    for (JsonNode probed : List.of(container, kserve, repository)) {
      probed.findValues("httpGet").forEach(get -> paths.add(get.path("path").asText()));
    }
    paths.add(read("kubernetes/podmonitor.yaml").at("/spec/podMetricsEndpoints/0/path").asText());
    assertEquals(8, paths.size(), paths::toString);
    Map<String, String> flags =
        Map.of(
            "repository.path",
            Files.createDirectory(folder.resolve("models")).toString(),
            "repository.cache",
            folder.resolve("cache").toString(),
            "device.memory",
            "8MiB",
            "server.http-port",
            "0");
    try (HttpClient client = HttpClient.newHttpClient();
        PipelaneServer server =
            PipelaneServer.start(ConfigLoader.load(null, ENVIRONMENT, flags).config())) {
      for (String path : paths) {
        URI uri = URI.create(server.url() + path.replace("{{.Name}}", "resnet50"));
        var answer = client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
        boolean ofModel = path.contains("{{.Name}}");
        assertEquals(ofModel ? 404 : 200, answer.statusCode(), path);
        assertEquals(ofModel, answer.body().contains("there is no model"), path);
      }
    }
  }

  @Test
  void service_leadsToPortsThatTheContainerNames() throws IOException {
    JsonNode container = read("kubernetes/deployment.yaml").at("/spec/template/spec/containers/0");
    List<String> names = texts(container.path("ports"), "name");
    for (JsonNode port : read("kubernetes/service.yaml").at("/spec/ports")) {
      assertTrue(names.contains(port.path("targetPort").asText()), port::toString);
    }
    JsonNode scraped = read("kubernetes/podmonitor.yaml").at("/spec/podMetricsEndpoints/0/port");
    assertTrue(names.contains(scraped.asText()));
  }

  @Test
  void kserve_flagsAreSettings_andAgreeWithItsPorts() throws IOException {
    JsonNode container = read("kserve/serving-runtime.yaml").at("/spec/containers/0");
    PipelaneConfig config = configuration(texts(container.path("args")));
    int port = container.at("/ports/0/containerPort").asInt();
    assertEquals(port, config.server().httpPort());
    assertEquals(-1, config.server().effectiveGrpcPort());
    assertEquals("resnet50", config.repository().modelName().orElseThrow().toString());
    assertEquals(Path.of("/mnt/models"), config.repository().path().orElseThrow());
    container.findValues("httpGet").forEach(get -> assertEquals(port, get.path("port").asInt()));
  }

  @Test
  void kserve_containersDrainBeforeTheyAreKilled() {
    for (String file : List.of("serving-runtime.yaml", "repository-runtime.yaml")) {
      JsonNode container = read("kserve/" + file).at("/spec/containers/0");
      long wait = container.at("/lifecycle/preStop/sleep/seconds").asLong();
      long drain = configuration(texts(container.path("args"))).server().drainTimeout().toSeconds();
      assertTrue(wait > 0, file);
      assertTrue(SECONDS_OF_A_POD >= wait + drain + SECONDS_TO_END, file + " drains too long");
    }
  }

  @Test
  void kserve_samplesNameRuntimesAndSettingsThatThereAre() throws IOException {
    Map<String, JsonNode> runtimes =
        Stream.of("serving-runtime.yaml", "repository-runtime.yaml")
            .map(file -> read("kserve/" + file))
            .collect(
                Collectors.toMap(
                    runtime -> runtime.at("/metadata/name").asText(), Function.identity()));
    List<Path> samples;
    try (Stream<Path> files = Files.list(DEPLOY.resolve("kserve/samples"))) {
      samples = files.sorted().toList();
    }
    assertEquals(4, samples.size(), samples::toString);
    for (Path sample : samples) {
      JsonNode service = read(DEPLOY.relativize(sample).toString());
      assertEquals("serving.kserve.io/v1beta1", service.path("apiVersion").asText());
      assertEquals("InferenceService", service.path("kind").asText());
      JsonNode model = service.at("/spec/predictor/model");
      JsonNode runtime = runtimes.get(model.path("runtime").asText());
      assertTrue(runtime != null, sample + " names a runtime that there is");
      String format = model.at("/modelFormat/name").asText();
      assertTrue(texts(runtime.at("/spec/supportedModelFormats"), "name").contains(format), format);
      assertTrue(
          texts(runtime.at("/spec/protocolVersions"))
              .contains(model.path("protocolVersion").asText()));
      JsonNode container = runtime.at("/spec/containers/0");
      PipelaneConfig config = configuration(texts(container.path("args")), environment(model));
      assertEquals(container.at("/ports/0/containerPort").asInt(), config.server().httpPort());
      config
          .hosts()
          .advertise()
          .ifPresent(url -> assertEquals(config.server().httpPort(), url.getPort()));
    }
  }

  /** What a container of a sample finds in its environment. */
  private static Map<String, String> environment(JsonNode model) {
    Map<String, String> environment = new HashMap<>(ENVIRONMENT);
    for (JsonNode variable : model.path("env")) {
      String value = variable.path("value").asText();
      environment.put(variable.path("name").asText(), value.replace("$(POD_IP)", "10.0.0.5"));
    }
    return environment;
  }

  @Test
  void dockerfile_setsSettingsThatThereAre() throws IOException {
    String text = Files.readString(DEPLOY.resolve("Dockerfile"));
    Map<String, String> environment =
        Map.of(
            "HOME", "/",
            "XDG_CACHE_HOME", found(text, "XDG_CACHE_HOME=(\\S+)"),
            "PIPELANE_SERVER_HOST", found(text, "PIPELANE_SERVER_HOST=(\\S+)"),
            "PIPELANE_REPOSITORY_PATH", found(text, "PIPELANE_REPOSITORY_PATH=(\\S+)"));
    PipelaneConfig config = ConfigLoader.load(null, environment, Map.of()).config();
    assertEquals(
        config.server().httpPort() + " " + config.server().effectiveGrpcPort(),
        found(text, "EXPOSE (.+)"));
    assertEquals(Path.of(found(text, "VOLUME (.+)")), config.repository().cache());
    assertTrue(text.contains("/dev/tcp/127.0.0.1/" + config.server().httpPort()));
    assertTrue(text.contains("GET /v2/health/live "));
    assertEquals("serve", parse(List.of("serve")).commandSpec().name());
    String image = read("kubernetes/deployment.yaml").findValue("image").asText();
    assertEquals(image, found(text, "docker build .*-t (\\S+)"));
    assertTrue(found(text, "USER (.+)").matches("[1-9][0-9]*"), "not root, by number");
  }

  @Test
  void unit_givesTheServerTimeToDrain() throws IOException {
    String text = Files.readString(DEPLOY.resolve("systemd/pipelane.service"));
    List<String> command = List.of(found(text, "ExecStart=\\S+/bin/pipelane (.+)").split(" "));
    assertEquals(
        ConfigLocation.OF_THE_SYSTEM, parse(command).matchedOptionValue("--config", Path.of("")));
    long drain =
        ConfigLoader.load(null, ENVIRONMENT, Map.of()).config().server().drainTimeout().toSeconds();
    long stop = Long.parseLong(found(text, "TimeoutStopSec=(\\d+)s"));
    assertTrue(stop >= drain + SECONDS_TO_END, stop + " s are too few to drain");
    assertFalse(text.contains("MemoryDenyWriteExecute"), "Java writes the code that it runs");
  }

  private PipelaneConfig configurationOfKubernetes() throws IOException {
    String text = read("kubernetes/configuration.yaml").at("/data/pipelane.yaml").asText();
    Path file = Files.writeString(folder.resolve("pipelane.yaml"), text);
    return ConfigLoader.load(file, ENVIRONMENT, Map.of()).config();
  }

  private static PipelaneConfig configuration(List<String> arguments) {
    return configuration(arguments, ENVIRONMENT);
  }

  private static PipelaneConfig configuration(
      List<String> arguments, Map<String, String> environment) {
    List<String> named =
        arguments.stream().map(argument -> argument.replace("{{.Name}}", "resnet50")).toList();
    return ConfigOptions.load(parse(named).commandSpec(), environment).config();
  }

  private static ParseResult parse(List<String> arguments) {
    return new CommandLine(new Pipelane()).parseArgs(arguments.toArray(String[]::new)).subcommand();
  }

  private static JsonNode read(String file) {
    try {
      return YAML.readTree(DEPLOY.resolve(file).toFile());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int port(JsonNode container, String name) {
    return StreamSupport.stream(container.path("ports").spliterator(), false)
        .filter(port -> port.path("name").asText().equals(name))
        .findFirst()
        .orElseThrow()
        .path("containerPort")
        .asInt();
  }

  private static List<String> texts(JsonNode list) {
    return StreamSupport.stream(list.spliterator(), false).map(JsonNode::asText).toList();
  }

  private static List<String> texts(JsonNode list, String member) {
    return StreamSupport.stream(list.spliterator(), false)
        .map(entry -> entry.path(member).asText())
        .toList();
  }

  private static String found(String text, String pattern) {
    Matcher matcher = Pattern.compile(pattern).matcher(text);
    assertTrue(matcher.find(), pattern);
    return matcher.group(1);
  }
}
