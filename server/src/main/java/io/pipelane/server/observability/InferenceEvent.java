package io.pipelane.server.observability;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceTimings;
import java.util.Arrays;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** Flight Recorder's event of one request, from its decoding to its answer. */
@Name(InferenceEvent.NAME)
@Label("Inference")
@Description("A request for a model, and where its time went")
@Category("Pipelane")
@Enabled(false)
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // Flight Recorder reads the fields.
public final class InferenceEvent extends Event {
  /** What recordings enable it by. */
  public static final String NAME = "pipelane.Inference";

  @Label("Model")
  private String model = "";

  @Label("Version")
  private long version;

  @Label("Outcome")
  private String outcome = "";

  @Label("Queue")
  @Timespan(Timespan.NANOSECONDS)
  private long queue;

  @Label("Stall")
  @Timespan(Timespan.NANOSECONDS)
  private long stall;

  @Label("Execute")
  @Timespan(Timespan.NANOSECONDS)
  private long execute;

  @Label("Segments")
  @Description("How many the run has told the times of; 0 where it has not")
  private int segments;

  @Label("Longest Segment")
  @Timespan(Timespan.NANOSECONDS)
  private long longestSegment;

  @Label("Batch")
  private int batch;

  private InferenceEvent() {}

  /** The event of a request that begins; null where nobody records such events. */
  public static @Nullable InferenceEvent begun() {
    InferenceEvent event = new InferenceEvent();
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }

  /**
   * The request has ended.
   *
   * @param result OK, or the status that it failed with
   * @param timings of its run; null where there was none
   */
  public void ended(ModelVersion of, String result, @Nullable InferenceTimings timings) {
    end();
    if (!shouldCommit()) {
      return;
    }
    model = of.model();
    version = of.version();
    outcome = result;
    if (timings != null) {
      queue = timings.queueNanos();
      stall = timings.stallNanos();
      execute = timings.executeNanos();
      batch = timings.batch();
      long[] computed = timings.segmentNanos();
      if (computed != null) {
        segments = computed.length;
        longestSegment = Arrays.stream(computed).max().orElse(0);
      }
    }
    commit();
  }
}
