package io.pipelane.server.http;

import io.netty.handler.codec.http.HttpMethod;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.Demand;
import io.pipelane.server.access.Role;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a path asks for. */
sealed interface Route {
  record ServerMetadata() implements Route {}

  record Live() implements Route {}

  record Ready() implements Route {}

  record ModelMetadata(String model, @Nullable String version) implements Route {}

  record ModelReady(String model, @Nullable String version) implements Route {}

  /** Empty text stands for all models, or all versions. */
  record Statistics(String model, String version) implements Route {}

  record Metrics() implements Route {}

  record Infer(String model, @Nullable String version) implements Route {}

  record Index() implements Route {}

  record Load(String model) implements Route {}

  record Unload(String model) implements Route {}

  /** A version in the repository, or on its way there. */
  record StoredVersion(String model, String version) implements Route {}

  record Upload(String model, String version) implements Route {}

  record Delete(String model, String version) implements Route {}

  /** What is chosen of a model's versions. */
  record Versions(String model) implements Route {}

  record ChooseVersions(String model) implements Route {}

  record Workers() implements Route {}

  record Recycle(int worker) implements Route {}

  /** Other hosts that models are shared with. */
  record OtherHosts() implements Route {}

  record ModelConfiguration(String model, @Nullable String version) implements Route {}

  /** The whole server's state. */
  record State() implements Route {}

  /** The same, pushed. */
  record Events() implements Route {}

  /** What the devices' monitors have kept. */
  record Samples() implements Route {}

  /** A file of the web page. */
  record Page(String file) implements Route {}

  record JobList() implements Route {}

  record SubmitJob() implements Route {}

  record ShowJob(String id) implements Route {}

  record RemoveJob(String id) implements Route {}

  /** What is traced, of a model or of all. */
  record TraceSettings(@Nullable String model) implements Route {}

  record ChangeTraceSettings(@Nullable String model) implements Route {}

  record LogSettings() implements Route {}

  record ChangeLogSettings() implements Route {}

  /** Regions of shared memory; empty text stands for all. */
  record SharedMemoryStatus(String region) implements Route {}

  record RegisterSharedMemory(String region) implements Route {}

  record UnregisterSharedMemory(String region) implements Route {}

  /** Any path of the extension for a GPU's memory, which is not served. */
  record CudaSharedMemory(boolean changes) implements Route {}

  /** What a caller must be let do. */
  default Demand demand() {
    return switch (this) {
      case Live _, Ready _, Page _ -> Demand.NONE;
      case ServerMetadata _ -> Demand.ofAny("");
      case ModelMetadata(String model, String _) -> Demand.ofAny(model);
      case ModelReady(String model, String _) -> Demand.ofAny(model);
      case ModelConfiguration(String model, String _) -> Demand.ofAny(model);
      case Infer(String model, String _) -> Demand.of(Role.INFER, model);
      case Statistics(String model, String _) -> Demand.of(Role.OBSERVE, model);
      case Metrics _, OtherHosts _ -> Demand.of(Role.OBSERVE, Demand.ALL_MODELS);
      case State _, Samples _, Events _, Workers _ -> Demand.of(Role.OBSERVE, "");
      case JobList _, ShowJob _ -> new Demand(Set.of(Role.INFER, Role.OBSERVE), Demand.ALL_MODELS);
      case SubmitJob _, RemoveJob _ -> Demand.of(Role.INFER, Demand.ALL_MODELS);
      case Index _, LogSettings _ -> Demand.ofObserver("");
      case TraceSettings(String model) -> Demand.ofObserver(model == null ? "" : model);
      case Versions(String model) -> Demand.ofObserver(model);
      case ChooseVersions(String model) -> Demand.of(Role.MANAGE, model);
      case ChangeTraceSettings(String model) ->
          Demand.of(Role.MANAGE, model == null ? Demand.ALL_MODELS : model);
      case SharedMemoryStatus _ -> Demand.ofObserver(Demand.ALL_MODELS);
      case ChangeLogSettings _,
          RegisterSharedMemory _,
          UnregisterSharedMemory _,
          CudaSharedMemory _ ->
          Demand.of(Role.MANAGE, Demand.ALL_MODELS);
      case Load(String model) -> Demand.of(Role.MANAGE, model);
      case Unload(String model) -> Demand.of(Role.MANAGE, model);
      case StoredVersion(String model, String _) -> Demand.ofObserver(model);
      case Upload(String model, String _) -> Demand.of(Role.MANAGE, model);
      case Delete(String model, String _) -> Demand.of(Role.MANAGE, model);
      case Recycle _ -> Demand.of(Role.MANAGE, Demand.ALL_MODELS);
    };
  }

  /** What the same path asks for with another method. */
  default Route with(HttpMethod method) {
    return switch (this) {
      case JobList _ when method.equals(HttpMethod.POST) -> new SubmitJob();
      case TraceSettings(String model) when method.equals(HttpMethod.POST) ->
          new ChangeTraceSettings(model);
      case Versions(String model) when method.equals(HttpMethod.POST) -> new ChooseVersions(model);
      case LogSettings _ when method.equals(HttpMethod.POST) -> new ChangeLogSettings();
      case ShowJob(String id) when method.equals(HttpMethod.DELETE) -> new RemoveJob(id);
      case StoredVersion(String model, String version) when method.equals(HttpMethod.PUT) ->
          new Upload(model, version);
      case StoredVersion(String model, String version) when method.equals(HttpMethod.DELETE) ->
          new Delete(model, version);
      default -> this;
    };
  }

  /** Whether the route is called with a method. */
  default boolean allows(HttpMethod method) {
    return switch (this) {
      case Upload _ -> method.equals(HttpMethod.PUT);
      case Delete _, RemoveJob _ -> method.equals(HttpMethod.DELETE);
      default ->
          isPost()
              ? method.equals(HttpMethod.POST)
              : method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD);
    };
  }

  /** The methods that its path is called with. */
  default String allowed() {
    return switch (this) {
      case JobList _,
          SubmitJob _,
          TraceSettings _,
          ChangeTraceSettings _,
          LogSettings _,
          ChangeLogSettings _,
          Versions _,
          ChooseVersions _ ->
          "GET, HEAD, POST";
      case ShowJob _, RemoveJob _ -> "GET, HEAD, DELETE";
      case StoredVersion _, Upload _, Delete _ -> "GET, HEAD, PUT, DELETE";
      default -> isPost() ? "POST" : "GET, HEAD";
    };
  }

  /** Whether the route is called with POST. */
  private boolean isPost() {
    return switch (this) {
      case Infer _,
          Index _,
          Load _,
          Unload _,
          Recycle _,
          SubmitJob _,
          ChangeTraceSettings _,
          ChangeLogSettings _,
          ChooseVersions _,
          RegisterSharedMemory _,
          UnregisterSharedMemory _ ->
          true;
      case CudaSharedMemory(boolean changes) -> changes;
      case ServerMetadata _,
          Live _,
          Ready _,
          ModelMetadata _,
          ModelReady _,
          ModelConfiguration _,
          Versions _,
          Workers _,
          OtherHosts _,
          Statistics _,
          Metrics _,
          State _,
          Samples _,
          Events _,
          Page _,
          StoredVersion _,
          Upload _,
          Delete _,
          JobList _,
          ShowJob _,
          RemoveJob _,
          TraceSettings _,
          LogSettings _,
          SharedMemoryStatus _ ->
          false;
    };
  }

  /**
   * Reads a request's target; what follows a question mark is ignored.
   *
   * @throws StatusException {@link Status#NOT_FOUND} for an unknown path, {@link
   *     Status#INVALID_ARGUMENT} for a name that is badly encoded or not allowed
   */
  static Route of(String target) {
    List<String> path = UriPath.segments(target);
    Route route =
        switch (path.isEmpty() ? "*" : path.getFirst()) {
          case "v2" -> below(path);
          case "" -> path.size() == 1 ? new Page(WebPage.INDEX) : null;
          case "page" -> path.size() == 2 ? new Page(path.get(1)) : null;
          case "metrics" -> path.size() == 1 ? new Metrics() : null;
          default -> null;
        };
    if (route == null) {
      throw new StatusException(
          Status.NOT_FOUND, "no such path: " + UriPath.shorten(target) + "; GET /v2 is the root");
    }
    return route;
  }

  private static @Nullable Route below(List<String> path) {
    if (path.size() == 1) {
      return new ServerMetadata();
    }
    List<String> rest = path.subList(2, path.size());
    return switch (path.get(1)) {
      case "" -> rest.isEmpty() ? new ServerMetadata() : null;
      case "health" -> health(rest);
      case "models" -> model(rest);
      case "repository" -> repository(rest);
      case "workers" -> workers(rest);
      case "hosts" -> rest.isEmpty() ? new OtherHosts() : null;
      case "pipelane" -> own(rest);
      case "jobs" -> jobs(rest);
      case "trace" -> rest.equals(List.of("setting")) ? new TraceSettings(null) : null;
      case "systemsharedmemory" -> sharedMemory(rest);
      case "cudasharedmemory" -> {
        Route system = sharedMemory(rest);
        yield system == null ? null : new CudaSharedMemory(system.isPost());
      }
      case "logging" -> rest.isEmpty() ? new LogSettings() : null;
      default -> null;
    };
  }

  /** What no extension of the protocol has. */
  private static @Nullable Route own(List<String> path) {
    if (path.size() != 1) {
      return null;
    }
    return switch (path.getFirst()) {
      case "state" -> new State();
      case "samples" -> new Samples();
      case "events" -> new Events();
      default -> null;
    };
  }

  private static @Nullable Route health(List<String> path) {
    if (path.size() != 1) {
      return null;
    }
    return switch (path.getFirst()) {
      case "live" -> new Live();
      case "ready" -> new Ready();
      default -> null;
    };
  }

  private static @Nullable Route model(List<String> path) {
    if (path.isEmpty()) {
      return null;
    }
    if (path.size() == 1 && path.getFirst().equals("stats")) {
      return new Statistics("", "");
    }
    String name = UriPath.name(path.getFirst());
    boolean versioned = path.size() >= 3 && path.get(1).equals("versions");
    String version = versioned ? UriPath.name(path.get(2)) : null;
    List<String> rest = path.subList(versioned ? 3 : 1, path.size());
    if (rest.isEmpty()) {
      return new ModelMetadata(name, version);
    }
    if (rest.equals(List.of("trace", "setting"))) { // A model's, whatever the version.
      return new TraceSettings(name);
    }
    if (rest.size() > 1) {
      return null;
    }
    return switch (rest.getFirst()) {
      case "ready" -> new ModelReady(name, version);
      case "config" -> new ModelConfiguration(name, version);
      case "infer" -> new Infer(name, version);
      case "stats" -> new Statistics(name, version == null ? "" : version);
      default -> null;
    };
  }

  private static @Nullable Route jobs(List<String> path) {
    return switch (path.size()) {
      case 0 -> new JobList();
      case 1 -> new ShowJob(UriPath.name(path.getFirst()));
      default -> null;
    };
  }

  private static @Nullable Route sharedMemory(List<String> path) {
    boolean named = path.size() == 3 && path.getFirst().equals("region");
    if (!named && path.size() != 1) {
      return null;
    }
    String region = named ? UriPath.name(path.get(1)) : "";
    return switch (path.getLast()) {
      case "status" -> new SharedMemoryStatus(region);
      case "register" -> named ? new RegisterSharedMemory(region) : null;
      case "unregister" -> new UnregisterSharedMemory(region);
      default -> null;
    };
  }

  private static @Nullable Route workers(List<String> path) {
    if (path.isEmpty()) {
      return new Workers();
    }
    boolean recycles = path.size() == 2 && path.get(1).equals("recycle");
    // Nine digits are less than the largest number.
    return recycles && path.getFirst().matches("[0-9]{1,9}")
        ? new Recycle(Integer.parseInt(path.getFirst()))
        : null;
  }

  private static @Nullable Route repository(List<String> path) {
    if (path.size() == 1 && path.getFirst().equals("index")) {
      return new Index();
    }
    if (path.size() < 3 || path.size() > 4 || !path.getFirst().equals("models")) {
      return null;
    }
    String name = UriPath.name(path.get(1));
    if (path.size() == 4) {
      return path.get(2).equals("versions")
          ? new StoredVersion(name, UriPath.name(path.get(3)))
          : null;
    }
    return switch (path.get(2)) {
      case "load" -> new Load(name);
      case "unload" -> new Unload(name);
      case "versions" -> new Versions(name);
      default -> null;
    };
  }
}
