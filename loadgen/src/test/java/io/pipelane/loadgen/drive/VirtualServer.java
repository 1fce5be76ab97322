package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.result.Warmth;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Connections to a server that answers when its test says so, in virtual time. */
final class VirtualServer implements Connection.Factory {
  private final Timeline timeline;
  private final Behaviour behaviour;
  final List<Integer> modelsAsked = new ArrayList<>();
  int opened;
  int mostReady = Integer.MAX_VALUE;

  /** How many attempts to connect anew fail, a tenth of a second each. */
  int refusals;

  private int requests;

  /** What becomes of a request. */
  sealed interface Fate {}

  record Answer(long afterNanos, int status, String body) implements Fate {}

  record Loss(long afterNanos) implements Fate {}

  /** An answer behind which the server closes the connection. */
  record LastAnswer(long afterNanos) implements Fate {}

  record Silence() implements Fate {}

  /** Decides about requests by their number. */
  interface Behaviour {
    Fate fate(int request);
  }

  VirtualServer(Timeline timeline, Behaviour behaviour) {
    this.timeline = timeline;
    this.behaviour = behaviour;
  }

  static Fate ok(long afterNanos) {
    return new Answer(afterNanos, 200, "");
  }

  @Override
  public Connection create(Connection.Listener listener) {
    return new VirtualConnection(listener);
  }

  private final class VirtualConnection implements Connection {
    private final Listener listener;

    VirtualConnection(Listener listener) {
      this.listener = listener;
    }

    @Override
    public void open() {
      if (opened > 0 && refusals > 0) {
        refusals--;
        timeline.at(timeline.nanoTime(), () -> listener.refused("nobody listens"));
        timeline.at(timeline.nanoTime() + 100_000_000, this::open);
        return;
      }
      opened++;
      if (opened <= mostReady) {
        timeline.at(timeline.nanoTime(), listener::ready);
      }
    }

    @Override
    public void send(int model, int variant) {
      modelsAsked.add(model);
      switch (behaviour.fate(requests++)) {
        case Answer answer ->
            timeline.at(
                timeline.nanoTime() + answer.afterNanos,
                () ->
                    listener.answered(
                        answer.status,
                        answer.status == 200 ? null : "HTTP " + answer.status,
                        -1,
                        Warmth.UNTOLD,
                        ByteBuffer.wrap(answer.body.getBytes(StandardCharsets.UTF_8)),
                        true));
        case Loss loss ->
            timeline.at(
                timeline.nanoTime() + loss.afterNanos,
                () -> {
                  listener.lost("gone");
                  open();
                });
        case LastAnswer answer ->
            timeline.at(
                timeline.nanoTime() + answer.afterNanos,
                () -> {
                  listener.answered(200, null, -1, Warmth.UNTOLD, ByteBuffer.allocate(0), false);
                  open();
                });
        case Silence _ -> {}
      }
    }

    @Override
    public void abandon() {
      open();
    }
  }
}
