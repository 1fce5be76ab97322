package io.pipelane.switcher.grouping;

import io.pipelane.lanes.calibration.Calibration;
import io.pipelane.modelstore.Plan;
import java.util.List;

/**
 * The costs of transfers and waits on one device, whatever the model.
 *
 * @param leadNanos from a run's begin until the link begins with its first copy
 * @param waitNanos what computation pays for each group it has to wait for
 */
public record PipelineCosts(LinkModel link, long leadNanos, long waitNanos) {
  private static final long PROCESSOR_LEAD_NANOS = 100_000;
  private static final long PROCESSOR_WAIT_NANOS = 10_000;

  /**
   * A GPU: the first page is mapped before the first copy, and a wait is work for the stream like a
   * launch.
   */
  public static PipelineCosts gpu(Calibration measured) {
    double wait = measured.launchNanos().orElse(measured.link().costPerCopyNanos());
    return new PipelineCosts(
        new LinkModel(measured.link()), Math.round(measured.mapNanosPerPage()), Math.round(wait));
  }

  /** The processor: a copy begins, and a waiting run goes on, when a thread has woken up. */
  public static PipelineCosts processor(Calibration measured) {
    return processor(new LinkModel(measured.link()));
  }

  /** The processor, with a link that is known otherwise. */
  public static PipelineCosts processor(LinkModel link) {
    return new PipelineCosts(link, PROCESSOR_LEAD_NANOS, PROCESSOR_WAIT_NANOS);
  }

  /**
   * The same where other devices' links carry pieces of copies.
   *
   * @param lenders what transfers to those devices cost
   * @param aloneBytes a copy's first bytes, which the device's own link carries alone
   */
  public PipelineCosts beside(List<PipelineCosts> lenders, long aloneBytes) {
    List<LinkModel> links = lenders.stream().map(PipelineCosts::link).toList();
    return new PipelineCosts(link.beside(links, aloneBytes), leadNanos, waitNanos);
  }

  /**
   * The model of a plan's cold start.
   *
   * @param segmentNanos how long each of its segments computes
   */
  public PipelineModel model(Plan plan, List<Long> segmentNanos) {
    return PipelineModel.of(plan, segmentNanos, link, leadNanos, waitNanos);
  }
}
