package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Sessions of another factory, each with something about it. */
public abstract class ForwardingSessions implements SessionFactory {
  private final SessionFactory sessions;

  /**
   * Passes everything on.
   *
   * @param sessions closed with this
   */
  protected ForwardingSessions(SessionFactory sessions) {
    this.sessions = sessions;
  }

  /**
   * Builds a session with something about it.
   *
   * @param building builds the other factory's
   */
  protected abstract ModelSession build(ImportedModel model, Supplier<ModelSession> building);

  @Override
  public final ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    return build(model, () -> sessions.gated(model, address, lane, constants));
  }

  @Override
  public final ModelSession gated(
      ImportedModel model,
      long address,
      @Nullable EphemeralRegion lane,
      MemoryTarget constants,
      Priority priority) {
    return build(model, () -> sessions.gated(model, address, lane, constants, priority));
  }

  @Override
  public boolean boundToLane() {
    return sessions.boundToLane();
  }

  @Override
  public boolean computesOnCaller() {
    return sessions.computesOnCaller();
  }

  @Override
  public boolean runsOfflineApart() {
    return sessions.runsOfflineApart();
  }

  @Override
  public long frameworkBytes() {
    return sessions.frameworkBytes();
  }

  @Override
  public int processes() {
    return sessions.processes();
  }

  @Override
  public boolean isLost() {
    return sessions.isLost();
  }

  @Override
  public boolean reset(String reason) {
    return sessions.reset(reason);
  }

  @Override
  public String owner(ImportedModel model) {
    return sessions.owner(model);
  }

  @Override
  public void forget(ImportedModel model) {
    sessions.forget(model);
  }

  @Override
  public void tidy() {
    sessions.tidy();
  }

  @Override
  public String runtimeVersion() {
    return sessions.runtimeVersion();
  }

  @Override
  public void close() {
    sessions.close();
  }
}
