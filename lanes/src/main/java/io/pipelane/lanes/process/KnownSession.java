package io.pipelane.lanes.process;

import io.pipelane.lanes.cpu.CpuExport;
import io.pipelane.modelstore.ImportedModel;

/**
 * A session that workers are to have.
 *
 * @param number no other session has had or will have it
 * @param slots the range that its weights lie in
 * @param model one of those that it runs: what it is built of
 * @param limitBytes what its constants may take in one worker
 */
record KnownSession(long number, CpuExport.Slots slots, ImportedModel model, long limitBytes) {}
