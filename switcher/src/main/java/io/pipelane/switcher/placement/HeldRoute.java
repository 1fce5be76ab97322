package io.pipelane.switcher.placement;

import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.ResultHandler;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/** A hold on a version, on every device that knows it. Safe for any thread. */
final class HeldRoute implements Hold {
  private final Route route;
  private final Submission submission;
  private final Map<Member, Hold> holds = new HashMap<>();

  /**
   * The way to take a request to one of a route's devices, each of which has something that takes
   * it.
   */
  interface Submission {
    Ticket submit(
        Route route,
        InferenceRequest request,
        ResultHandler handler,
        Function<Member, Hold> devices);
  }

  private HeldRoute(Route route, Submission submission) {
    this.route = route;
    this.submission = submission;
  }

  /**
   * Holds a version.
   *
   * @throws StatusException when a device does not have it any more; none holds it then
   */
  static HeldRoute of(Route route, List<Member> members, Submission submission) {
    HeldRoute held = new HeldRoute(route, submission);
    try {
      for (int device : route.registered) {
        Member member = members.get(device);
        held.holds.put(member, member.switcher.hold(route.version));
      }
      return held;
    } catch (StatusException e) {
      held.close();
      throw e;
    }
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    return submission.submit(
        route, request, handler, member -> Objects.requireNonNull(holds.get(member)));
  }

  @Override
  public void close() {
    holds.values().forEach(Hold::close);
  }
}
