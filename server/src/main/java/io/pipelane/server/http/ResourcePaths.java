package io.pipelane.server.http;

import static io.pipelane.server.http.Resource.onGet;
import static io.pipelane.server.http.Resource.onPost;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.http.message.UriPath;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The paths that are served: which {@link Resource} each of them stands for. */
final class ResourcePaths {
  private ResourcePaths() {}

  /**
   * Reads a request's target; what follows a question mark is ignored.
   *
   * @throws StatusException {@link Status#NOT_FOUND} for an unknown path, {@link
   *     Status#INVALID_ARGUMENT} for a name that is badly encoded or not allowed
   */
  static Resource find(String target) {
    List<String> path = UriPath.segments(target);
    Resource resource =
        switch (path.isEmpty() ? "*" : path.getFirst()) {
          case "v2" -> below(path);
          case "" -> path.size() == 1 ? onGet(new Route.Page(WebPage.INDEX)) : null;
          case "page" -> path.size() == 2 ? onGet(new Route.Page(path.get(1))) : null;
          case "metrics" -> path.size() == 1 ? onGet(new Route.Metrics()) : null;
          default -> null;
        };
    if (resource == null) {
      throw new StatusException(
          Status.NOT_FOUND, "no such path: " + UriPath.shorten(target) + "; " + root(path));
    }
    return resource;
  }

  private static String root(List<String> path) {
    return !path.isEmpty() && path.getFirst().equals("v1")
        ? "version 2 of the protocol is served: POST /v2/models/{model}/infer"
        : "GET /v2 is the root";
  }

  private static @Nullable Resource below(List<String> path) {
    if (path.size() == 1) {
      return onGet(new Route.ServerMetadata());
    }
    List<String> rest = path.subList(2, path.size());
    return switch (path.get(1)) {
      case "" -> rest.isEmpty() ? onGet(new Route.ServerMetadata()) : null;
      case "health" -> health(rest);
      case "models" -> model(rest);
      case "repository" -> repository(rest);
      case "workers" -> workers(rest);
      case "hosts" -> rest.isEmpty() ? onGet(new Route.OtherHosts()) : null;
      case "pipelane" -> own(rest);
      case "jobs" -> jobs(rest);
      case "trace" -> rest.equals(List.of("setting")) ? traceSettings(null) : null;
      case "systemsharedmemory" -> sharedMemory(rest);
      case "cudasharedmemory" -> {
        Resource system = sharedMemory(rest);
        yield system == null ? null : system.withAllFor(new Route.CudaSharedMemory());
      }
      case "logging" ->
          rest.isEmpty()
              ? onGet(new Route.LogSettings()).andPost(new Route.ChangeLogSettings())
              : null;
      default -> null;
    };
  }

  /** What no extension of the protocol has. */
  private static @Nullable Resource own(List<String> path) {
    if (path.size() != 1) {
      return null;
    }
    return switch (path.getFirst()) {
      case "state" -> onGet(new Route.State());
      case "samples" -> onGet(new Route.Samples());
      case "events" -> onGet(new Route.Events());
      case "changes" -> onGet(new Route.Changes());
      default -> null;
    };
  }

  private static @Nullable Resource health(List<String> path) {
    if (path.size() != 1) {
      return null;
    }
    return switch (path.getFirst()) {
      case "live" -> onGet(new Route.Live());
      case "ready" -> onGet(new Route.Ready());
      default -> null;
    };
  }

  private static @Nullable Resource model(List<String> path) {
    if (path.isEmpty()) {
      throw new StatusException(
          Status.NOT_FOUND, "no such path: /v2/models; POST /v2/repository/index lists the models");
    }
    if (path.size() == 1 && path.getFirst().equals("stats")) {
      return onGet(new Route.Statistics("", ""));
    }
    String name = UriPath.name(path.getFirst());
    boolean versioned = path.size() >= 3 && path.get(1).equals("versions");
    String version = versioned ? UriPath.name(path.get(2)) : "";
    List<String> rest = path.subList(versioned ? 3 : 1, path.size());
    if (rest.isEmpty()) {
      return onGet(new Route.ModelMetadata(name, version));
    }
    if (rest.equals(List.of("trace", "setting"))) { // A model's, whatever the version.
      return traceSettings(name);
    }
    if (rest.size() > 1) {
      return null;
    }
    return switch (rest.getFirst()) {
      case "ready" -> onGet(new Route.ModelReady(name, version));
      case "config" -> onGet(new Route.ModelConfiguration(name, version));
      case "infer" -> onPost(new Route.Infer(name, version));
      case "stats" -> onGet(new Route.Statistics(name, version));
      default -> null;
    };
  }

  private static Resource traceSettings(@Nullable String model) {
    return onGet(new Route.TraceSettings(model)).andPost(new Route.ChangeTraceSettings(model));
  }

  private static @Nullable Resource jobs(List<String> path) {
    return switch (path.size()) {
      case 0 -> onGet(new Route.JobList()).andPost(new Route.SubmitJob());
      case 1 -> job(UriPath.name(path.getFirst()));
      default -> null;
    };
  }

  private static Resource job(String id) {
    return onGet(new Route.ShowJob(id)).andDelete(new Route.RemoveJob(id));
  }

  private static @Nullable Resource sharedMemory(List<String> path) {
    boolean named = path.size() == 3 && path.getFirst().equals("region");
    if (!named && path.size() != 1) {
      return null;
    }
    String region = named ? UriPath.name(path.get(1)) : "";
    return switch (path.getLast()) {
      case "status" -> onGet(new Route.SharedMemoryStatus(region));
      case "register" -> named ? onPost(new Route.RegisterSharedMemory(region)) : null;
      case "unregister" -> onPost(new Route.UnregisterSharedMemory(region));
      default -> null;
    };
  }

  private static @Nullable Resource workers(List<String> path) {
    if (path.isEmpty()) {
      return onGet(new Route.Workers());
    }
    boolean recycles = path.size() == 2 && path.get(1).equals("recycle");
    // Nine digits are less than the largest number.
    return recycles && path.getFirst().matches("[0-9]{1,9}")
        ? onPost(new Route.Recycle(Integer.parseInt(path.getFirst())))
        : null;
  }

  private static @Nullable Resource repository(List<String> path) {
    if (path.size() == 1 && path.getFirst().equals("index")) {
      return onPost(new Route.Index());
    }
    if (isOfNamedRepository(path)) {
      throw new StatusException(
          Status.NOT_FOUND,
          "there is one repository, which has no name; leave \"%s\" out: /v2/repository/%s"
              .formatted(
                  UriPath.shorten(path.getFirst()),
                  UriPath.shorten(String.join("/", path.subList(1, path.size())))));
    }
    if (path.size() < 3 || path.size() > 4 || !path.getFirst().equals("models")) {
      return null;
    }
    String name = UriPath.name(path.get(1));
    if (path.size() == 4) {
      return path.get(2).equals("versions") ? version(name, UriPath.name(path.get(3))) : null;
    }
    return switch (path.get(2)) {
      case "load" -> onPost(new Route.Load(name));
      case "unload" -> onPost(new Route.Unload(name));
      case "options" -> onGet(new Route.Options(name)).andPut(new Route.ChangeOptions(name));
      case "versions" -> onGet(new Route.Versions(name)).andPost(new Route.ChooseVersions(name));
      default -> null;
    };
  }

  /** Whether a path is served, but for a repository's name in front. */
  private static boolean isOfNamedRepository(List<String> path) {
    return switch (path.size()) {
      case 2 -> path.get(1).equals("index");
      case 4 -> path.get(1).equals("models") && path.get(3).matches("load|unload");
      default -> false;
    };
  }

  private static Resource version(String model, String version) {
    return onGet(new Route.StoredVersion(model, version))
        .andPut(new Route.Upload(model, version))
        .andDelete(new Route.Delete(model, version));
  }
}
