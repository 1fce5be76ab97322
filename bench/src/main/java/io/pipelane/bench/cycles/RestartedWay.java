package io.pipelane.bench.cycles;

import io.pipelane.bench.local.PlainSession;
import io.pipelane.bench.measure.Run;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The way of stop and start: a plain session for every turn. */
final class RestartedWay implements Way {
  private final Function<Role, PlainSession> sessions;
  private @Nullable PlainSession open;

  /**
   * Has no session yet.
   *
   * @param sessions makes one from the model's file
   */
  RestartedWay(Function<Role, PlainSession> sessions) {
    this.sessions = sessions;
  }

  @Override
  public Run begin(Role role) {
    end();
    PlainSession session = sessions.apply(role);
    open = session;
    return session;
  }

  @Override
  public void end() {
    if (open != null) {
      open.close();
      open = null;
    }
  }

  @Override
  public long movedBytes() {
    return 0;
  }

  @Override
  public void close() {
    end();
  }
}
