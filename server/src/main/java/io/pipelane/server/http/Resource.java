package io.pipelane.server.http;

import io.netty.handler.codec.http.HttpMethod;
import io.pipelane.server.http.message.Route;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The resource that a path stands for: a route for each method that it is called with. HEAD asks
 * for what GET does.
 */
public final class Resource {
  private final List<Call> calls;

  private record Call(HttpMethod method, Route route) {}

  private Resource(List<Call> calls) {
    this.calls = calls;
  }

  static Resource onGet(Route route) {
    return new Resource(List.of(new Call(HttpMethod.GET, route)));
  }

  static Resource onPost(Route route) {
    return new Resource(List.of(new Call(HttpMethod.POST, route)));
  }

  Resource andPost(Route route) {
    return and(HttpMethod.POST, route);
  }

  Resource andPut(Route route) {
    return and(HttpMethod.PUT, route);
  }

  Resource andDelete(Route route) {
    return and(HttpMethod.DELETE, route);
  }

  private Resource and(HttpMethod method, Route route) {
    return new Resource(Stream.concat(calls.stream(), Stream.of(new Call(method, route))).toList());
  }

  /** One that is called with the same methods, and asks for one route with each of them. */
  public Resource withAllFor(Route route) {
    return new Resource(calls.stream().map(call -> new Call(call.method, route)).toList());
  }

  /** What is asked for with a method; empty where the path is not called with it. */
  public Optional<Route> route(HttpMethod method) {
    HttpMethod asked = method.equals(HttpMethod.HEAD) ? HttpMethod.GET : method;
    for (Call call : calls) {
      if (call.method.equals(asked)) {
        return Optional.of(call.route);
      }
    }
    return Optional.empty();
  }

  /** The methods that the path is called with, as the Allow field lists them. */
  public String allowed() {
    return calls.stream()
        .map(call -> call.method.equals(HttpMethod.GET) ? "GET, HEAD" : call.method.name())
        .collect(Collectors.joining(", "));
  }
}
