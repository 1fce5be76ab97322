package io.pipelane.server.observability;

import io.pipelane.server.observability.TraceSetting.Level;
import org.jspecify.annotations.Nullable;

/** A change to a setting: null leaves a part as it is, or as it is for all models. */
public record TraceChange(@Nullable Level level, @Nullable Integer rate, @Nullable Long count) {
  /** Says nothing. */
  public static final TraceChange NONE = new TraceChange(null, null, null);

  /** A setting with what this says of it. */
  public TraceSetting applyTo(TraceSetting setting) {
    return new TraceSetting(
        level == null ? setting.level() : level,
        rate == null ? setting.rate() : rate,
        count == null ? setting.count() : count);
  }
}
