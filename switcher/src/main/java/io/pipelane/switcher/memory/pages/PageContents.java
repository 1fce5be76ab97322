package io.pipelane.switcher.memory.pages;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostWeights;
import java.util.List;

/**
 * A reader of what is in the pages of models, so that those that are alike can be shared. For any
 * thread.
 *
 * @param tenantsApart whether models share with those of their own tenant alone
 */
public record PageContents(HostWeights host, long pageBytes, boolean shares, boolean tenantsApart) {
  /**
   * The content of a page.
   *
   * @param tenant whose models may have it; empty for all
   */
  public record Content(String hash, String tenant) {}

  /** By slot; empty for a model that shares no pages. Reads its weights the first time. */
  public List<Content> of(ImportedModel model) {
    if (!shares) {
      return List.of();
    }
    List<String> hashes = host.pageHashes(model, pageBytes);
    boolean known = hashes.size() == Math.ceilDiv(model.plan().weightBytes(), pageBytes);
    String tenant = tenantsApart ? model.tenant() : "";
    return known ? hashes.stream().map(hash -> new Content(hash, tenant)).toList() : List.of();
  }
}
